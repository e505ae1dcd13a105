import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyHelperProgram
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompters
import LatchkeySecurityKeys
import LatchkeySodium
import LatchkeySystemd

/// Unlocks the vault by a security key instead of the login password. The person gives its PIN and then touches the key.
final class SecurityKeyWay: OtherWay {
  private let program: SecurityKeyProgram
  private let helper: DeriveProgram
  private let home: String
  private let number: UInt64
  private let deadline: PromptDeadline
  private let whenUnlocked: () -> Void
  /// Whether this session began without a password, for example by a security key. The prompt begins with the security key then, if
  /// it is connected.
  let comesFirst: Bool
  private var isFirst: Bool
  /// A key is blocked after eight wrong PINs, so a prompt takes no more wrong PINs than wrong passwords.
  private var pinsLeft: Int

  /// The time after which the person is told that the key is working, and can cancel its work.
  private static let quietTime = Duration.seconds(1)

  func offer(at place: PromptPlace) -> String? { SecurityKeyWording.offer }

  /// Nil if no security key unlocks the vault, or `latchkey-security-key` is not installed.
  ///
  /// - Parameters:
  ///   - status: the daemon's report.
  ///   - pins: the number of wrong PINs after which the prompt ends.
  ///   - whenUnlocked: called at once when the vault is unlocked. During this time, a PAM stack waits for an answer.
  init?(
    _ options: Options, _ status: Status, _ deadline: PromptDeadline, pins: Int, whenUnlocked: @escaping () -> Void
  ) {
    self.whenUnlocked = whenUnlocked
    pinsLeft = pins
    comesFirst = status.lacksPassword
    isFirst = comesFirst
    let folder = LatchkeyPosix.Process.folder
    guard status.protectors.contains(where: { $0.kind == Protector.Kind.securityKey.rawValue }),
      let program = SecurityKeyProgram.find(beside: folder), let derive = DeriveProgram.find(beside: folder),
      let home = KeybagFile.home(ofFolder: status.vaultPath)
    else { return nil }
    self.program = program
    self.home = home
    self.deadline = deadline
    number = options.number
    helper = DeriveProgram(path: derive, account: options.account, home: home, runtime: options.runtime)
  }

  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd {
    do { return try tried(by: prompter, detail) } catch {
      Journal.log(.warning, "a security key did not unlock the vault: \(error)")
      return .failed(SecurityKeyWording.failure)
    }
  }

  private func tried(by prompter: any Prompter, _ detail: String) throws -> OtherWayEnd {
    let isFirst = self.isFirst
    self.isFirst = false
    guard pinsLeft > 0 else {
      Journal.log(.warning, "a security key gets no more PINs from this prompt")
      return .failed(SecurityKeyWording.failure)
    }
    // The keybag may have changed since the question before.
    let keybag = try KeybagFile.load(from: try KeybagFile.folder(home: home, owner: getuid()))
    // This question comes before the PIN, so that no person types a PIN in vain.
    guard let found = try answer(to: try SecurityKeyQuestion(.look, keybag: keybag), prompter) else {
      return .dismissed
    }
    guard found.outcome == .done else { return isFirst ? .failed("") : failed(found) }
    let pin: SecureBytes
    switch prompter.ask(SecurityKeyWording.pin(detail)) {
    case .given(let bytes): pin = bytes
    case .dismissed: return .dismissed
    case .unavailable: return .unavailable
    }
    // An empty PIN is the way back to the password.
    guard pin.count > 0 else { return .failed("") }
    guard SecurityKeyQuestion.isPIN(pin) else { return .failed(SecurityKeyWording.impossiblePIN) }
    var question = try SecurityKeyQuestion(.answer, keybag: keybag)
    try question.setPIN(pin)
    let given = LatchkeyPosix.Process.microsecondsSinceBoot
    guard let answer = try answer(to: question, prompter) else { return .dismissed }
    guard answer.outcome == .done else { return failed(answer) }
    let result = try helper.answer(
      to: .openBySecurityKey, token: answer.secret, password: try SecureBytes(count: 0), given: given, prompt: number)
    guard result == .done || result == .nothingNeeded else {
      let name = result.map { "\($0.rawValue)" } ?? "none"
      Journal.log(.warning, "a security key did not unlock the vault: latchkey-derive has result \(name)")
      return .failed(SecurityKeyWording.failure)
    }
    Journal.log(.notice, "a security key unlocked the vault")
    whenUnlocked()
    return .unlocked
  }

  /// Runs the question while the person touches the key; nil if the person cancelled, or the answer is not needed any more.
  private func answer(
    to question: borrowing SecurityKeyQuestion, _ prompter: any Prompter
  ) throws -> SecurityKeyAnswer? {
    let running = try program.start(question)
    let source = try deadline.loop.addIO(fd: running.descriptor, events: .readable) { [unowned running] _ in
      running.receive()
    }
    defer { source.cancel() }
    let hasNews = { running.isOver || running.touches > 0 }
    if !deadline.wait(atMost: Self.quietTime, until: hasNews) {
      // If another program uses the key, this may take long. The person can cancel it.
      guard !deadline.isOver, prompter.wait(SecurityKeyWording.work, until: hasNews) else { return nil }
    }
    guard running.isOver || prompter.wait(SecurityKeyWording.touch, until: { running.isOver }) else { return nil }
    return try running.takeAnswer()
  }

  private func failed(_ answer: borrowing SecurityKeyAnswer) -> OtherWayEnd {
    if answer.outcome == .wrongPIN { pinsLeft -= 1 }
    Journal.log(.warning, "a security key did not unlock the vault: \(answer.outcome), error \(answer.code)")
    return .failed(SecurityKeyWording.sentence(answer.outcome, triesLeft: answer.triesLeft))
  }
}
