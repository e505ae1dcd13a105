import ArgumentParser
import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyKeybag
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium

/// Asks for the secret that opens the keybag itself: the login password, which PAM has accepted, or a recovery code.
struct RootKeyAsking: ParsableArguments {
  @Flag(help: .translated("Take what is asked for from lines of standard input instead of the terminal."))
  var stdin = false

  @Option(help: ArgumentHelp(translated("Use this folder of PAM services instead of /etc/pam.d."), visibility: .hidden))
  var pamFolder: String?

  @Option(help: ArgumentHelp(translated("Use this program instead of latchkey-derive."), visibility: .hidden))
  var deriveProgram: String?

  @Option(help: ArgumentHelp(translated("Where the device key service listens."), visibility: .hidden))
  var deviceSocket: String?

  @Option(help: ArgumentHelp(translated("Use this program instead of latchkey-security-key."), visibility: .hidden))
  var securityKeyProgram: String?

  /// Prepares the process before anything secret is asked for.
  static func prepare() throws {
    try LatchkeyPosix.Process.forbidInspection()
    try Sodium.initialize()
  }

  /// The message for a login password that PAM accepted and the vault does not have.
  static var oldPassword: String {
    translated(
      "your login password does not unlock the vault, because the vault has an older one. Run 'latchkey unlock' first.")
  }

  /// Ends a command that needs an unlocked vault.
  static func requireUnlocked(_ status: Status) throws {
    guard status.state == .unlocked else {
      throw Failure.declined(translated("the vault is locked. Run 'latchkey unlock' first."))
    }
  }

  /// The daemon's report of the vault.
  ///
  /// - Throws: a ``Failure`` if there is no vault.
  static func statusOfVault(at place: DaemonPlace) throws -> Status {
    let status = try place.status()
    guard status.generation > 0 else { throw HelperResult?.some(.noVault).failure(wrong: oldPassword) }
    return status
  }

  /// The refusal to add a protector beside a login without a password.
  static var nothingToAdd: Failure {
    .declined(translated("there is nothing to add: your login has no password, and the vault is always unlocked."))
  }

  /// The report of a vault to which a protector can be added now: it is unlocked, and its login has a password.
  static func statusToAdd(at place: DaemonPlace) throws -> Status {
    try prepare()
    let status = try statusOfVault(at: place)
    guard !status.passwordless else { throw nothingToAdd }
    try requireUnlocked(status)
    return status
  }

  /// Adds a protector after the login password.
  func add(_ operation: HelperOperation, at place: DaemonPlace, _ status: Status) throws {
    let answer = try askPassword(for: operation, of: try program(place, vault: status.vaultPath), status)
    guard answer != .nothingNeeded else { throw Self.nothingToAdd }
    guard answer == .done else { throw answer.failure(wrong: Self.oldPassword) }
  }

  /// Makes the person confirm the shown text. Without a terminal, only an option confirms it.
  func confirm(_ isConfirmed: Bool) throws {
    guard !isConfirmed else { return }
    guard !stdin, isatty(STDIN_FILENO) == 1 else {
      throw Failure.declined(translated("nothing was changed. To make the change, run the command again with --yes."))
    }
    try Confirmation.ask()
  }

  /// Removes a protector after the login password.
  ///
  /// - Returns: done, or that there was nothing to remove.
  func remove(_ operation: HelperOperation, at place: DaemonPlace) throws -> HelperResult? {
    try Self.prepare()
    let status = try place.status()
    guard !status.passwordless else {
      throw Failure.declined(
        translated("there is nothing to remove: your login has no password, and the vault is always unlocked."))
    }
    let answer = try askPassword(for: operation, of: try program(place, vault: status.vaultPath), status)
    guard answer == .done || answer == .nothingNeeded else { throw answer.failure(wrong: Self.oldPassword) }
    return answer
  }

  func conversation() throws -> TerminalConversation { try TerminalConversation.asking(standardInput: stdin) }

  /// latchkey-derive for the vault of the daemon at `place`.
  func program(_ place: DaemonPlace, vault path: String?) throws -> DeriveProgram {
    guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
    let home = path.flatMap(KeybagFile.home(ofFolder:)) ?? ""
    return DeriveProgram(
      path: try DeriveProgram.find(deriveProgram), account: account, home: home, runtime: place.folder,
      device: deviceSocket ?? "")
  }

  /// Asks for the login password by PAM, which must accept the password.
  ///
  /// - Returns: the answers: the password, and others for which the stack asked, such as a second factor.
  func passwords(_ terminal: TerminalConversation) throws -> [GivenSecret] {
    guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
    let conversation = KeepingConversation(terminal)
    let outcome = Authentication.run(
      service: "latchkey-unlock", user: account.name, terminal: ttyname(0).map { String(cString: $0) },
      folder: pamFolder, environment: ["LATCHKEY_FORMER": "no"], conversation: conversation)
    switch outcome {
    case _ where terminal.wasCancelled: throw Failure.cancelled
    case .refused(let text, let isPlain): throw Failure.refused(isPlain ? nil : text)
    case .unavailable(let phrase): throw Failure.unavailable(phrase.translated)
    case .accepted: break
    }
    guard !conversation.given.isEmpty else {
      throw Failure.unavailable(translated("PAM asked for no password, but the vault needs it"))
    }
    return conversation.given
  }

  /// Asks for the login password, and runs `program` with it. If the login has no password, nobody is asked.
  func askPassword(
    for operation: HelperOperation, of program: DeriveProgram, _ status: Status, output: Int32? = nil,
    anywhere: Bool = false
  ) throws -> HelperResult? {
    let empty = try SecureBytes(count: 0)
    guard !status.passwordless else {
      return try program.run(operation, token: empty, password: empty, output: output, anywhere: anywhere)
    }
    let terminal = try conversation()
    var answer: HelperResult? = .wrongPassword
    for password in try passwords(terminal) where answer == .wrongPassword {
      answer = try program.run(
        operation, token: password.bytes, password: empty, given: password.given, output: output, anywhere: anywhere)
    }
    return answer
  }

  /// Asks for a recovery code until one is typed without a mistake. Standard input is read once.
  func code(_ terminal: TerminalConversation) throws -> SecureBytes {
    var typed = HeldAnswer()
    while true {
      terminal.answer(.secret(translated("Recovery code: "))) { typed.keep($0) }
      guard !terminal.wasCancelled, let code = typed.take(), code.count > 0 else { throw Failure.cancelled }
      guard let mistake = Self.mistake(in: code) else { return code }
      guard !stdin else {
        throw Failure.declined(translated("\(mistake.phrase.translated). Nothing was done."))
      }
      terminal.answer(.error(translated("That is not right: \(mistake.phrase.translated). Try again.")), { _ in })
    }
  }

  private static func mistake(in code: borrowing SecureBytes) -> RecoveryCode.Mistake? {
    do {
      _ = try RecoveryCode(typed: code.bytes)
      return nil
    } catch { return error }
  }
}

/// One secret that was an answer in a conversation.
struct HeldAnswer: ~Copyable {
  private var answer: SecureBytes?

  mutating func keep(_ bytes: borrowing SecureBytes) { answer = try? SecureBytes(copying: bytes.bytes) }

  mutating func take() -> SecureBytes? { answer.take() }
}

/// A secret that a person gave; erased with the last reference.
final class GivenSecret {
  let bytes: SecureBytes
  /// When the person gave the password, on the clock of `Process.microsecondsSinceBoot`.
  let given = LatchkeyPosix.Process.microsecondsSinceBoot

  init(copying other: borrowing SecureBytes) throws(SodiumError) { bytes = try SecureBytes(copying: other.bytes) }
}

/// A conversation that keeps the answers until PAM has accepted them.
private final class KeepingConversation: Conversation {
  private let terminal: TerminalConversation
  private(set) var given: [GivenSecret] = []

  init(_ terminal: TerminalConversation) { self.terminal = terminal }

  func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    guard case .secret = message else { return terminal.answer(message, body) }
    terminal.answer(message) { answer in
      if answer.count > 0, let kept = try? GivenSecret(copying: answer) { given.append(kept) }
      body(answer)
    }
  }

  func check() { terminal.check() }
  func endCheck() { terminal.endCheck() }
}

extension HelperResult? {
  /// The message for the person after a failure.
  ///
  /// - Parameter wrong: the message for a wrong password or code.
  func failure(wrong: String) -> Failure {
    switch self {
    case .wrongPassword: .declined(wrong)
    case .noDaemon, .daemonSilent: .silent
    case .otherVersion: .otherVersion
    case .noVault: .declined(SessionQuestions.lackOfVault)
    case .refused: .declined(translated("the vault does not allow that now. See 'latchkey status'."))
    case .damaged: .declined(translated("the vault's files cannot be used. See 'latchkey status'."))
    case .noMemory:
      .declined(translated("there is not enough memory to check the password. Close some programs, and try again."))
    case .noDeviceKey:
      .deviceService(translated("it is not running, or it does not answer"))
    case .overtaken:
      .declined(translated("another login changed the vault at the same moment. Nothing was changed. Try again."))
    case .homeUnavailable: .declined(translated("the keybag cannot be written: is the disk full? Nothing was changed."))
    case .tooManyEpochs:
      .declined(
        translated(
          """
          items still need too many former key epochs. Unlock the locked collections. If 'latchkey status' counts \
          items of other devices, unlock the vault there too. Or delete those items.
          """))
    default:
      .declined(
        translated(
          "latchkey-derive failed. Either nothing was changed, or the change was begun and will be finished at the next unlock."
        ))
    }
  }
}
