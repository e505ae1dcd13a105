import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// `latchkey recovery`
struct RecoveryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery",
    abstract: translated("Manage the code on paper that unlocks the vault when the password is gone."),
    discussion: translated(
      """
      Whoever has the code and the vault's files can read the secrets. 'latchkey unlock --recovery' unlocks the vault with \
      it, and from then on your present login password unlocks the vault.
      """),
    subcommands: [Create.self, Check.self, Remove.self, Status.self])

  /// `latchkey recovery create`
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Create a code and show it, this once. An earlier code is no longer valid then."))

    @OptionGroup var place: Place
    @OptionGroup var asking: RootKeyAsking
    @Flag(help: .translated("Write the code to standard output, whatever that is, instead of the terminal."))
    var stdout = false

    func run() throws {
      try Failure.telling {
        try RootKeyAsking.prepare()
        let status = try place.status()
        try requireUnlocked(status)
        let program = try asking.program(place, vault: status.vaultPath)
        let output = stdout ? FileDescriptor(owning: dup(STDOUT_FILENO)) : try Self.terminal()
        let answer = try asking.askPassword(
          for: .createRecoveryCode, of: program, status, output: output.number, anywhere: stdout)
        guard answer == .done else {
          if !stdout {
            try output.writeAll(Array(translated("If a code is shown above, it is not valid.\n").utf8).span.bytes)
          }
          throw answer.failure(wrong: oldPassword)
        }
        guard !stdout else { return }
        let advice = translated(
          """
          This is your recovery code. It is not shown again. Write it down, keep it apart from this machine, and check
          what you wrote with 'latchkey recovery check'.

          """)
        try output.writeAll(Array(advice.utf8).span.bytes)
        guard status.passwordless else { return }
        let end =
          translated(
            "It ends when your login gets a password, because others could have created it. Create another one then.\n")
        try output.writeAll(Array(end.utf8).span.bytes)
      }
    }

    private static func terminal() throws -> FileDescriptor {
      do { return try FileDescriptor.open("/dev/tty", flags: O_WRONLY | O_NOCTTY) } catch {
        throw Failure.declined(
          translated("there is no terminal to show the code on. With --stdout it is written to standard output."))
      }
    }
  }

  /// `latchkey recovery check`
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Ask for the code, and say whether it is the code of this vault. This changes nothing."))

    @OptionGroup var place: Place
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

    @OptionGroup var place: Place
    @OptionGroup var asking: RootKeyAsking

    func run() throws {
      try Failure.telling {
        try RootKeyAsking.prepare()
        let status = try place.status()
        guard status.recoveryCodeCreated > 0 else { return print(translated("The vault has no recovery code.")) }
        try requireUnlocked(status)
        let program = try asking.program(place, vault: status.vaultPath)
        let answer = try asking.askPassword(for: .removeRecoveryCode, of: program, status)
        guard answer == .done || answer == .nothingNeeded else { throw answer.failure(wrong: oldPassword) }
        print(translated("The vault has no recovery code any more."))
        print(
          translated(
            "Older copies of the keybag still accept it. 'latchkey rotate' gives the vault keys that they do not have.")
        )
      }
    }
  }

  /// `latchkey recovery status`
  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Say whether there is a code, and when it was created."))

    @OptionGroup var place: Place
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

private let oldPassword =
  translated(
    "your login password does not unlock the vault, because the vault has an older one. Run 'latchkey unlock' first.")
private let otherCode = translated(
  "that code does not unlock this vault: it belongs to another vault, or was replaced or removed.")

private func requireUnlocked(_ status: LatchkeyControl.Status) throws {
  guard status.state == .unlocked else {
    throw Failure.declined(translated("the vault is locked. Run 'latchkey unlock' first."))
  }
}

extension UnlockCommand {
  /// Opens the vault with its recovery code. From then on the present login password opens it.
  static func recover(_ asking: RootKeyAsking, at place: Place) throws {
    try RootKeyAsking.prepare()
    let program = try asking.program(place, vault: try place.status().vaultPath)
    let terminal = try asking.conversation()
    let code = try asking.code(terminal)
    let empty = try SecureBytes(count: 0)
    let checked = try program.run(.checkRecoveryCode, token: code, password: empty)
    guard checked == .done else { throw checked.failure(wrong: otherCode) }
    let given = try asking.passwords(terminal)
    guard given.count == 1 else {
      throw Failure.declined(
        translated("PAM asked for more than a password, so it is not known which answer that is. Nothing was changed."))
    }
    let answer = try program.run(.recover, token: code, password: given[0].bytes, given: given[0].given)
    guard answer == .done else { throw answer.failure(wrong: otherCode) }
    let state = try place.status().state
    guard state == .unlocked else {
      throw Failure.stillLocked(
        translated("your password is set, but the vault is locked again. Unlock it with your password."))
    }
    print(translated("The vault is unlocked, and your login password unlocks it from now on. The code stays valid."))
  }
}
