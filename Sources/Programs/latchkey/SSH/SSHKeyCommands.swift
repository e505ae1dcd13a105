import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// `latchkey ssh generate`
struct SSHGenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: translated("Create a key in the vault, and print its public key."))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @OptionGroup var options: SSHKeyOptions
  @Option(help: ArgumentHelp(translated("The kind of the key: ed25519, ecdsa or rsa."), valueName: "kind"))
  var type = "ed25519"
  @Option(
    help: ArgumentHelp(
      translated("The size of the key."),
      discussion: translated("For ecdsa 256 (default), 384 or 521; for rsa 2048 to 8192 (default 3072)."),
      valueName: "bits"))
  var bits: Int?
  @Argument(help: ArgumentHelp(translated("Your name for the key, as me@example.com."), valueName: "comment"))
  var comment: String

  private var kind: NewKeyKind? { NewKeyKind(type: type, bits: bits) }

  func validate() throws {
    guard kind != nil else {
      throw ValidationError(
        translated("There are keys of the kinds ed25519, ecdsa (256, 384 or 521 bits) and rsa (2048 to 8192 bits)."))
    }
  }

  func run() throws {
    try Failure.telling {
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let connection = try VaultConnection(place)
      guard let kind, let key = try? PrivateKey.generate(kind) else {
        throw Failure.declined(translated("no key could be created. Run this again."))
      }
      _ = try ListedKey.store(key, comment: comment, options, on: connection, asking: !prompts.isForbidden)
      print(TerminalText.printable(key.publicKey.line(comment: comment)))
    }
  }
}

/// `latchkey ssh add`
struct SSHAddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: translated("Import a private key file into the vault."),
    discussion: translated(
      """
      ssh-keygen reads the file, and asks for its passphrase if it has one. The file stays as it is. The vault protects the \
      key from then on, and needs no passphrase of the file's. The file of a security key has no private key: each signature \
      needs the device.
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @OptionGroup var options: SSHKeyOptions
  @Option(
    help: ArgumentHelp(
      translated("Your name for the key, instead of the comment in the file."), valueName: "text"))
  var comment: String?
  @Option(
    help: ArgumentHelp(
      translated("The library that speaks to the security key."),
      discussion: translated("By default OpenSSH's own. The agent runs only the libraries that its option -P names."),
      valueName: "library"))
  var provider: String?
  @Argument(help: .translated("The file.")) var file: String

  func run() throws {
    try Failure.telling {
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let connection = try VaultConnection(place)
      let contents = try ForeignKey(path: file).read()
      let name = comment ?? (contents.comment.isEmpty ? file : contents.comment)
      let key = contents.takeKey()
      guard key.isConsistent else {
        throw Failure.file(translated("the key in \(file) is damaged: its public and private parts do not fit."))
      }
      let library = try provider.map { try Self.library($0, for: key) }
      let stored = try ListedKey.store(
        key, comment: name, options, provider: library, on: connection, asking: !prompts.isForbidden)
      print(TerminalText.printable(translated("Added \(stored): \(key.publicKey.fingerprint)")))
      guard key.securityKey == nil else { return print(translated("Each signature needs the security key.")) }
      print(
        TerminalText.printable(
          translated(
            "\(file) still has the private key. Delete it once a login with the agent's key works; keep \(file).pub.")))
    }
  }

  /// The whole path of a library.
  private static func library(_ name: String, for key: borrowing PrivateKey) throws -> String {
    guard key.securityKey != nil else {
      throw Failure.declined(translated("--provider is for the keys of security keys only."))
    }
    guard let whole = realpath(name, nil) else {
      throw Failure.file(translated("\(name) cannot be read: \(String(cString: strerror(errno)))."))
    }
    defer { free(whole) }
    return String(cString: whole)
  }
}

/// `latchkey ssh list`
struct SSHListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: translated(
      "List the ssh keys: where each is, fingerprint, type, class, when it asks, comment, and whether it can sign now.")
  )

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false

  func run() throws {
    try Failure.telling {
      let connection = try VaultConnection(place)
      let keys = try ListedKey.described(try ListedKey.all(from: connection), from: connection)
      if json { return print(try JSONText.of(keys)) }
      for key in keys { print(TerminalText.printable("\(key.text)  (\(key.stateText))")) }
    }
  }
}

/// `latchkey ssh public`
struct SSHPublicCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "public", abstract: translated("Print a public key, as authorized_keys has it."))

  @OptionGroup var place: DaemonPlace
  @Argument(help: SSHCommand.keyHelp) var key: String

  func run() throws {
    try Failure.telling {
      let found = try ListedKey.named(key, from: try VaultConnection(place))
      print(TerminalText.printable(found.key.publicKey.line(comment: found.item.label ?? "")))
    }
  }
}

/// `latchkey ssh edit`
struct SSHEditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: translated("Change when a key asks, or your name for it."))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @Option(help: SSHCommand.askHelp) var ask: KeyItem.Asking?
  @Option(help: ArgumentHelp(translated("Your name for the key."), valueName: "text")) var comment: String?
  @Argument(help: SSHCommand.keyHelp) var key: String

  func validate() throws {
    guard ask != nil || comment != nil else { throw ValidationError(translated("Give --ask or --comment.")) }
  }

  func run() throws {
    try Failure.telling {
      let connection = try VaultConnection(place)
      let found = try ListedKey.named(key, from: connection)
      var item = found.key
      item.asking = ask ?? item.asking
      try connection.opening(found.item.path, asking: !prompts.isForbidden) {
        if ask != nil {
          try connection.set("Attributes", of: found.item.path, "a{ss}") { $0.appendStringDictionary(item.attributes) }
        }
        if let comment { try connection.set("Label", of: found.item.path, "s") { $0.appendString(comment) } }
      }
      print(try ListedKey.named(found.item.place, from: connection).text)
    }
  }
}

/// `latchkey ssh rm`
struct SSHRemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: translated("Delete a key from the vault."),
    discussion: translated(
      "The generations of the vault keep the key for a while, as they keep every deleted item: see latchkey rm."))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @Argument(help: SSHCommand.keyHelp) var key: String

  func run() throws {
    try Failure.telling {
      let connection = try VaultConnection(place)
      let found = try ListedKey.named(key, from: connection)
      try connection.opening(found.item.path, asking: !prompts.isForbidden) {
        try connection.call(found.item.path, VaultConnection.item, "Delete", read: { _ in })
      }
      print(translated("Deleted \(found.text)"))
    }
  }
}
