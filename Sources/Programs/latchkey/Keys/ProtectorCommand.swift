import ArgumentParser
import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeySodium

/// `latchkey protector`
struct ProtectorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "protector",
    abstract: translated("List what unlocks the vault, and let logins without a password unlock a part of it."),
    subcommands: [List.self, Add.self, Remove.self], defaultSubcommand: List.self)

  /// The kinds of protectors that can be added and removed here.
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    /// The protector for logins without a password.
    case session
  }

  /// `latchkey protector list`
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("List what unlocks the vault, and since when."))

    @OptionGroup var place: Place
    @Flag(help: .translated("As JSON, with the same keys in every version."))
    var json = false

    func run() throws {
      let listed = try Failure.telling { try place.status() }.protectors.map(ListedProtector.init)
      if json {
        return print(try JSONText.of(listed))
      }
      if listed.isEmpty {
        print(
          SessionQuestions.isSystemAccount
            ? translated("Root and system accounts get no vault.")
            : translated("There is no vault yet: 'latchkey unlock' creates it."))
      }
      for one in listed { print("\(one.created)  \(one.text)") }
    }
  }

  /// `latchkey protector add`
  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Let logins without a password unlock the after-first-unlock secrets, and nothing else."),
      discussion: translated(
        """
        For automatic login, fingerprints and security keys, by services that the administrator names in \
        /etc/latchkey/services, one a line. It says what becomes weaker, and asks for your login password.
        """))

    @OptionGroup var place: Place
    @OptionGroup var asking: RootKeyAsking
    @Argument(help: .translated("session"))
    var kind: Kind
    @Flag(help: .translated("Do not ask for confirmation."))
    var yes = false

    static let promise = translated(
      """
      After a login without a password (automatic login, a fingerprint, a security key), your after-first-unlock
      secrets can then be read; labels and attributes too. Your password is still needed for all others.
      That is a weaker promise than before: whoever is root on this machine, or gets into your account by a service that
      is named in /etc/latchkey/services, has these secrets without your password. So has whoever gets a copy of this
      machine's disk, unless the device key is in a TPM.
      """)

    func run() throws {
      try Failure.telling {
        try RootKeyAsking.prepare()
        let status = try place.status()
        guard status.generation > 0 else { throw HelperResult?.some(.noVault).failure(wrong: oldPassword) }
        guard !status.passwordless else {
          throw Self.nothingToAdd
        }
        guard status.state == .unlocked else {
          throw Failure.declined(translated("the vault is locked. Run 'latchkey unlock' first."))
        }
        // If the device key is in the user's own file, everybody who reads that file could unwrap the secret.
        guard status.deviceKey == "host" || status.deviceKey == "tpm" else {
          throw Failure.declined(
            translated(
              """
              this needs the machine's device key service, and your vault's device key is not with it. See 'latchkey status'.
              """))
        }
        try confirm()
        let program = try asking.program(place, vault: status.vaultPath)
        let answer = try asking.askPassword(for: .addSession, of: program, status)
        guard answer != .nothingNeeded else { throw Self.nothingToAdd }
        guard answer == .done else { throw answer.failure(wrong: oldPassword) }
        print(translated("Logins without a password unlock your after-first-unlock secrets from now on."))
        if access("/etc/latchkey/services", F_OK) != 0 {
          print(
            translated(
              "No service is named yet: your administrator writes names into /etc/latchkey/services, one a line."))
        }
      }
    }

    private static var nothingToAdd: Failure {
      .declined(translated("there is nothing to add: your login has no password, and the vault is always unlocked."))
    }

    private func confirm() throws {
      StandardStream.output.show(Self.promise + "\n")
      guard !yes else { return }
      guard !asking.stdin, isatty(STDIN_FILENO) == 1 else {
        throw Failure.declined(translated("nothing was changed. Give --yes to confirm it."))
      }
      try Confirmation.ask()
    }
  }

  /// `latchkey protector remove`
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Let logins without a password unlock nothing. It asks for your login password."))

    @OptionGroup var place: Place
    @OptionGroup var asking: RootKeyAsking
    @Argument(help: .translated("session"))
    var kind: Kind

    func run() throws {
      try Failure.telling {
        try RootKeyAsking.prepare()
        let status = try place.status()
        guard !status.passwordless else {
          throw Failure.declined(
            translated("there is nothing to remove: your login has no password, and the vault is always unlocked."))
        }
        let program = try asking.program(place, vault: status.vaultPath)
        let answer = try asking.askPassword(for: .removeSession, of: program, status)
        guard answer == .done || answer == .nothingNeeded else { throw answer.failure(wrong: oldPassword) }
        print(translated("Logins without a password unlock nothing of the vault from now on."))
        guard answer == .done else { return }
        print(
          translated(
            """
            An older copy of the keybag still opens at such a login, and after 'latchkey rotate' only what was in a copy of the
            database of the same time. What ends that for all copies is to take the service out of /etc/latchkey/services.
            ('latchkey device forget', by root, does as well, and loses every secret that is bound to this device.)
            """))
      }
    }
  }
}

private let oldPassword =
  translated(
    "your login password does not unlock the vault, because the vault has an older one. Run 'latchkey unlock' first.")
