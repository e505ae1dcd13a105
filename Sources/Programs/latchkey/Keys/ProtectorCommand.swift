import ArgumentParser
import LatchkeyControl
import LatchkeyGettext
import LatchkeyKeybag

/// `latchkey protector`
struct ProtectorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "protector", abstract: translated("List, add, remove and rename what unlocks the vault."),
    subcommands: [List.self, Add.self, Remove.self, Rename.self], defaultSubcommand: List.self)

  /// `latchkey protector list`
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("List what unlocks the vault, and since when."))

    @OptionGroup var place: DaemonPlace
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
      abstract: translated("Add something that unlocks the vault. It asks for your login password."),
      discussion: translated(
        """
        recovery-code: a code on paper, as by 'latchkey recovery create'. session: logins without a password \
        (automatic login, fingerprints and security keys) unlock the after-first-unlock secrets, and nothing else. \
        The administrator names the services of such logins in /etc/latchkey/services, one a line. The command says \
        what becomes weaker. finger: a finger unlocks the vault again after the password has unlocked it, for 48 hours. \
        The command says where, and what becomes weaker. security-key: a FIDO2 security key with a PIN, which unlocks \
        everything, from the first login on.
        """))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: RootKeyAsking
    @Argument(help: .translated("recovery-code, session, finger or security-key"))
    var kind: Protector.Kind
    @Option(help: .translated("The name of the security key. Without it, the key's model is the name."))
    var name: String?
    @Flag(
      name: .customLong("without-tpm"),
      help: .translated("Only with 'finger': on a machine without a TPM, keep the key of the finger in memory."))
    var withoutTPM = false
    @Flag(help: .translated("Do not ask for confirmation."))
    var yes = false
    @Flag(help: .translated("Write the code to standard output, whatever that is, instead of the terminal."))
    var stdout = false

    func validate() throws {
      guard !stdout || kind == .recoveryCode else {
        throw ValidationError(translated("--stdout shows a recovery code. No other protector has one."))
      }
      guard name == nil || kind == .securityKey else {
        throw ValidationError(translated("Only a security key has a name."))
      }
      guard !withoutTPM || kind == .finger else {
        throw ValidationError(translated("--without-tpm is about a finger. No other protector needs it."))
      }
    }

    func run() throws {
      switch kind {
      case .recoveryCode: try RecoveryCodeChange(place: place, asking: asking).create(toStandardOutput: stdout)
      case .session: try SessionProtectorChange(place: place, asking: asking).add(isConfirmed: yes)
      case .securityKey: try SecurityKeyChange(place: place, asking: asking).add(named: name)
      case .finger:
        try FingerProtectorChange(place: place, asking: asking).add(isConfirmed: yes, withoutTPM: withoutTPM)
      case .password:
        Failure.declined(
          translated("no command adds a password: 'passwd' changes your login password, and the vault follows.")
        ).end()
      case .device:
        Failure.declined(
          translated(
            "no command adds the device key: it unlocks the vault by itself only if your login has no password.")
        ).end()
      }
    }
  }

  /// `latchkey protector remove`
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Remove something that unlocks the vault. It asks for your login password."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: RootKeyAsking
    @Argument(help: .translated("recovery-code, session, finger or security-key"))
    var kind: Protector.Kind
    @Argument(help: .translated("The name of the security key."))
    var name: String?

    func validate() throws {
      guard (name != nil) == (kind == .securityKey) else {
        throw ValidationError(
          kind == .securityKey
            ? translated("Give the name of the security key. 'latchkey protector' lists the names.")
            : translated("Only a security key has a name."))
      }
    }

    func run() throws {
      switch kind {
      case .recoveryCode: try RecoveryCodeChange(place: place, asking: asking).remove()
      case .session: try SessionProtectorChange(place: place, asking: asking).remove()
      case .securityKey: try SecurityKeyChange(place: place, asking: asking).remove(name ?? "")
      case .finger: try FingerProtectorChange(place: place, asking: asking).remove()
      case .password:
        Failure.declined(
          translated(
            "no command removes a password: a former password is removed at a login or screen unlock with the present one."
          )
        ).end()
      case .device:
        Failure.declined(
          translated(
            "no command removes the device key: it stops unlocking the vault when your login gets a password ('passwd')."
          )
        ).end()
      }
    }
  }
}

extension ProtectorCommand {
  /// `latchkey protector rename`
  struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: translated("Give a security key another name. It asks for your login password."))

    @OptionGroup var place: DaemonPlace
    @OptionGroup var asking: RootKeyAsking
    @Argument(help: .translated("The name of the security key."))
    var name: String
    @Argument(help: .translated("Its new name."))
    var newName: String

    func run() throws { try SecurityKeyChange(place: place, asking: asking).rename(name, to: newName) }
  }
}

extension Protector.Kind: ExpressibleByArgument {
  /// Finds the protector by its name.
  public init?(argument: String) {
    guard let kind = Self.allCases.first(where: { $0.name == argument }) else { return nil }
    self = kind
  }

  /// The names of the kinds that a command changes. The others get a sentence.
  public static var allValueStrings: [String] { allCases.filter { $0.ends(with: .command) }.map(\.name) }
}
