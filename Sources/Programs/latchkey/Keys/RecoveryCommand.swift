import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// `latchkey recovery`
struct RecoveryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery",
    abstract: translated("Manage the recovery code: a code on paper that unlocks the vault if the password is lost."),
    discussion: translated(
      """
      Whoever has the code and the vault's files can read the secrets. 'latchkey unlock --recovery' unlocks the vault with \
      it, and from then on your present login password unlocks the vault.
      """),
    subcommands: [Create.self, Check.self, Remove.self, Status.self])

  /// `latchkey recovery create`
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Create a code and show it once. An earlier code is no longer valid then."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: RootKeyAsking
    @Flag(help: .translated("Write the code to standard output, whatever that is, instead of the terminal."))
    var stdout = false

    func run() throws { try RecoveryCodeChange(place: place, asking: asking).create(toStandardOutput: stdout) }
  }

  /// `latchkey recovery check`
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Ask for the code, and say whether it is the code of this vault. This changes nothing."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: RootKeyAsking

    func run() throws {
      try Failure.telling {
        try RootKeyAsking.prepare()
        // The keybag can be read without the daemon.
        let program = try asking.program(place, vault: try? place.status().vaultPath)
        let code = try asking.code(try asking.conversation())
        let answer = try program.run(.checkRecoveryCode, token: code, password: try SecureBytes(count: 0))
        guard answer == .done else { throw answer.failure(wrong: otherCode) }
        print(translated("The code is right: it unlocks this vault."))
      }
    }
  }

  /// `latchkey recovery remove`
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: translated("Remove the code."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: RootKeyAsking

    func run() throws { try RecoveryCodeChange(place: place, asking: asking).remove() }
  }

  /// `latchkey recovery status`
  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Say whether there is a code, and when it was created."))

    @OptionGroup var place: DaemonPlace
    @Flag(help: .translated("As JSON, with the same keys in every version."))
    var json = false

    func run() throws {
      let created = try Failure.telling { try place.status().recoveryCodeCreated }
      let day = UTCTime.text(created)
      if json {
        print(created > 0 ? "{\"recovery_code\": true, \"created\": \"\(day)\"}" : "{\"recovery_code\": false}")
      } else {
        print(
          created > 0
            ? translated("The vault has a recovery code, created on \(day).")
            : translated("The vault has no recovery code."))
      }
    }
  }
}

private let otherCode = translated(
  "that code does not unlock this vault: it belongs to another vault, or was replaced or removed.")

extension UnlockCommand {
  /// Opens the vault with its recovery code. From then on the present login password opens it.
  static func recover(_ asking: RootKeyAsking, at place: DaemonPlace) throws {
    try RootKeyAsking.prepare()
    let program = try asking.program(place, vault: try place.status().vaultPath)
    let terminal = try asking.conversation()
    let code = try asking.code(terminal)
    let empty = try SecureBytes(count: 0)
    let checked = try program.run(.checkRecoveryCode, token: code, password: empty)
    guard checked == .done else {
      Journal.record(.warning, "a recovery code did not unlock the vault")
      throw checked.failure(wrong: otherCode)
    }
    let given = try asking.passwords(terminal)
    guard given.count == 1 else {
      throw Failure.declined(
        translated(
          "PAM asked for more than a password, so it is not known which answer was the password. Nothing was changed."))
    }
    let answer = try program.run(.recover, token: code, password: given[0].bytes, given: given[0].given)
    guard answer == .done else { throw answer.failure(wrong: otherCode) }
    Journal.record(.notice, "a recovery code opened the vault, and the login password unlocks it from now on")
    let state = try place.status().state
    guard state == .unlocked else {
      throw Failure.stillLocked(
        translated("your password is set, but the vault is locked again. Unlock it with your password."))
    }
    print(translated("The vault is unlocked, and your login password unlocks it from now on. The code stays valid."))
  }
}
