import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyKeybag
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySecurityKeys
import LatchkeySodium
import LatchkeySystemd

/// Asks a security key, and its owner for the PIN and for a touch.
final class SecurityKeyAsking {
  let asking: RootKeyAsking
  let keybag: Keybag
  private let program: SecurityKeyProgram
  /// The time at which the person gave the PIN, on the clock of `Process.microsecondsSinceBoot`. A lock that comes while the key
  /// waits for a touch counts as later.
  private(set) var given: UInt64 = 0

  /// - Throws: ``Failure`` if the program is not installed, or the keybag cannot be read.
  init(_ asking: RootKeyAsking, _ status: Status) throws {
    self.asking = asking
    keybag = try Self.keybag(status)
    let found =
      asking.securityKeyProgram.map { SecurityKeyProgram($0) }
      ?? SecurityKeyProgram.find(beside: LatchkeyPosix.Process.folder)
    guard let found else {
      throw Failure.declined(
        translated("security keys need the package latchkey-security-key, which is not installed."))
    }
    program = found
  }

  /// The keybag of the vault, which has the credentials and no secret.
  static func keybag(_ status: Status) throws -> Keybag {
    guard let home = KeybagFile.home(ofFolder: status.vaultPath) else {
      throw HelperResult?.some(.damaged).failure(wrong: "")
    }
    do throws(KeybagError) {
      return try KeybagFile.load(from: try KeybagFile.folder(home: home, owner: getuid()))
    } catch { throw HelperResult?.some(error == .missing ? .noVault : .damaged).failure(wrong: "") }
  }

  /// Finds the connected key, before any question to the person.
  func look() throws -> SecurityKeyAnswer {
    let answer = try ask(try SecurityKeyQuestion(.look, keybag: keybag))
    guard answer.outcome == .done else { throw failure(of: answer) }
    return answer
  }

  /// Asks for the PIN, and runs the key's work. A person at a terminal may correct a wrong PIN.
  func work(_ work: SecurityKeyQuestion.Work, _ terminal: TerminalConversation) throws -> SecurityKeyAnswer {
    var triesLeft = asking.stdin ? 1 : UnlockCommand.tryCount
    while true {
      var question = try SecurityKeyQuestion(work, keybag: keybag)
      try question.setPIN(try pin(terminal))
      given = LatchkeyPosix.Process.microsecondsSinceBoot
      var touches = 0
      let answer = try ask(question) {
        touches += 1
        let text =
          touches == 1 ? translated("Touch your security key.") : translated("Touch your security key once more.")
        terminal.answer(.info(text), { _ in })
      }
      triesLeft -= 1
      guard answer.outcome != .done else { return answer }
      guard answer.outcome == .wrongPIN, triesLeft > 0, answer.triesLeft != 0 else { throw failure(of: answer) }
      terminal.answer(.error(Self.wrongPIN(answer.triesLeft)), { _ in })
    }
  }

  private func pin(_ terminal: TerminalConversation) throws -> SecureBytes {
    var typed = HeldAnswer()
    terminal.answer(.secret(translated("PIN of the security key: "))) { typed.keep($0) }
    guard !terminal.wasCancelled, let pin = typed.take(), pin.count > 0 else { throw Failure.cancelled }
    guard SecurityKeyQuestion.isPIN(pin) else {
      throw Failure.declined(translated("no security key has such a PIN: it is too long. Nothing was done."))
    }
    return pin
  }

  private func ask(
    _ question: borrowing SecurityKeyQuestion, onTouch: () -> Void = {}
  ) throws -> SecurityKeyAnswer {
    do { return try program.ask(question, onTouch: onTouch) } catch let error as PosixError {
      throw Failure.declined(translated("latchkey-security-key cannot be started: \(error)"))
    }
  }

  /// The failure for a person; the journal has a line as well.
  private func failure(of answer: borrowing SecurityKeyAnswer) -> Failure {
    let text = Self.sentence(answer.outcome, triesLeft: answer.triesLeft, code: answer.code)
    Journal.record(.warning, "a security key did not unlock the vault: \(answer.outcome), error \(answer.code)")
    return .declined(text)
  }

  private static func wrongPIN(_ triesLeft: Int?) -> String {
    guard let triesLeft else { return translated("that is not the PIN of the security key.") }
    return translated(
      UInt64(triesLeft), one: "that is not the PIN of the security key. One try is left until the key is blocked.",
      other: "that is not the PIN of the security key. \(triesLeft) tries are left until the key is blocked.")
  }

  private static func sentence(_ outcome: SecurityKeyOutcome, triesLeft: Int?, code: Int32) -> String {
    switch outcome {
    case .absent:
      translated(
        """
        no security key was found. Connect it, then run this again. A key can be used only by the person at the screen of the \
        machine that it is connected to.
        """)
    case .several:
      translated(
        """
        several security keys are connected. Leave only the one that you want to use: a PIN that went to another key would \
        count as wrong there.
        """)
    case .incapable:
      translated(
        "this security key cannot protect the vault. A key needs FIDO2 with a PIN, and its extensions hmac-secret and credProtect."
      )
    case .noPIN:
      translated(
        """
        this security key has no PIN, so anybody who finds it could use it. Set a PIN first, in the settings of a browser or \
        with 'fido2-token -S DEVICE' ('fido2-token -L' lists devices), then run this again.
        """)
    case .wrongPIN: wrongPIN(triesLeft)
    case .pausedPIN:
      translated("the PIN was wrong too often. Pull the security key out and connect it again, then run this again.")
    case .blockedPIN:
      translated(
        """
        the security key is blocked, because its PIN was wrong too often. Only a reset helps, and a key that was reset unlocks \
        nothing any more: remove it with 'latchkey protector remove', and add it again.
        """)
    case .stranger:
      translated(
        "this security key does not unlock this vault: it was never added, or it was removed, or somebody has reset it."
      )
    case .enrolled: translated("this security key unlocks the vault already.")
    case .notTouched: translated("nobody touched the security key in time. Run this again.")
    case .removed: translated("the security key was pulled out. Connect it, then run this again.")
    case .busy:
      translated(
        """
        the security key does not answer. If another program asks for it, such as a browser, finish or cancel that first. Then \
        run this again.
        """)
    case .done, .failed: translated("the security key did not do its work (error \(Int(code))).")
    }
  }
}

extension UnlockCommand {
  /// Unlocks the vault by a security key.
  static func unlockBySecurityKey(_ asking: RootKeyAsking, at place: DaemonPlace) throws {
    try RootKeyAsking.prepare()
    let before = try place.status()
    if isDone(before) { return print(translated("The vault is unlocked already.")) }
    guard before.protectors.contains(where: { ListedProtector($0).isSecurityKey }) else {
      throw Failure.declined(
        translated("no security key unlocks this vault. 'latchkey protector add security-key' adds one."))
    }
    guard !before.lockerUp else {
      throw Failure.stillLocked(translated("the screen is locked, so only the screen locker unlocks the vault."))
    }
    let program = try asking.program(place, vault: before.vaultPath)
    let keys = try SecurityKeyAsking(asking, before)
    do {
      _ = try keys.look()
      let found = try keys.work(.answer, try asking.conversation())
      let answer = try program.run(
        .openBySecurityKey, token: found.secret, password: try SecureBytes(count: 0), given: keys.given)
      guard answer == .done || answer == .nothingNeeded else {
        throw answer.failure(
          wrong: translated("the security key gave another answer than the one that unlocks this vault."))
      }
    } catch Failure.declined(let text) {
      throw Failure.declined(
        text + "\n"
          + translated(
            "Your login password unlocks the vault as well: 'latchkey unlock'. So does a recovery code: 'latchkey unlock --recovery'."
          ))
    }
    guard try place.status().state == .unlocked else {
      throw Failure.stillLocked(
        translated("the security key was right, but the vault is locked again. Run this again."))
    }
    Journal.record(.notice, "a security key unlocked the vault")
    print(translated("The vault is unlocked."))
  }
}
