import ArgumentParser
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySSHProtocol
import LatchkeySecretClient
import LatchkeySystemd

/// `latchkey ssh`
struct SSHCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ssh", abstract: translated("Create, import and list ssh keys of the vault."),
    discussion: translated(
      """
      The ssh agent (the package latchkey-ssh-agent) signs with these keys. A key is an item of the vault: 'latchkey edit' \
      changes its class. A key is named by its fingerprint, by its comment, or by where it is (as login/5).

      Examples:
        latchkey ssh generate me@example.com
        latchkey ssh add ~/.ssh/id_ed25519
        latchkey ssh list
        latchkey ssh public me@example.com >>~/.ssh/allowed_signers
        latchkey ssh edit --ask always me@example.com
      """),
    subcommands: [
      SSHGenerateCommand.self, SSHAddCommand.self, SSHListCommand.self, SSHPublicCommand.self, SSHEditCommand.self,
      SSHRemoveCommand.self,
    ])

  static let keyHelp = ArgumentHelp(
    translated("The key: its fingerprint, its comment, or where it is, as 'latchkey ssh list' shows them."),
    valueName: "key")
  static let askHelp = ArgumentHelp(
    translated("When a signature asks you: never, once until the lock, or always."),
    discussion: translated(
      """
      By default once. A request that comes from another machine, or does not say where it comes from, always asks.
      """),
    valueName: "when")
}

extension KeyItem.Asking: ExpressibleByArgument {}

/// The options of a new key.
struct SSHKeyOptions: ParsableArguments {
  @Option(help: SSHCommand.askHelp) var ask = KeyItem.Asking.once
  @Option(
    name: .customLong("class"), help: ArgumentHelp(AccessibilityClass.help, valueName: "class"),
    completion: AccessibilityClass.completion)
  var className: String?
  @Option(
    help: ArgumentHelp(
      translated("What each signature requires, beside an unlocked session."), discussion: AccessControl.help,
      valueName: "what"))
  var require: String?

  func validate() throws {
    _ = try AccessibilityClass.option(className)
    _ = try AccessControl.option(require)
  }
}

/// A key of the vault, as the command line lists it.
struct ListedKey {
  let item: ListedItem
  let key: KeyItem

  /// All keys, in the order in which they were stored. Keys that ssh-add gave to the agent are left out.
  static func all(from connection: VaultConnection) throws -> [ListedKey] {
    try connection.search([KeyItem.schemaName: KeyItem.schema])
      .filter { !$0.hasPrefix(ListedCollection.folder + "session/") }
      .compactMap { path in
        let item = try ListedItem(path, from: connection)
        return item.attributes.flatMap(KeyItem.init(attributes:)).map { ListedKey(item: item, key: $0) }
      }
      .sorted { ($0.item.created, $0.item.number) < ($1.item.created, $1.item.number) }
  }

  /// The only one that a word names.
  static func named(_ word: String, from connection: VaultConnection) throws -> ListedKey {
    let found = try all(from: connection).filter {
      [$0.item.place, $0.key.publicKey.fingerprint, $0.item.label].contains(word)
    }
    guard let first = found.first else {
      throw Failure.noItem(translated("no ssh key of the vault has that name. 'latchkey ssh list' lists them."))
    }
    guard found.count == 1 else {
      throw ItemSelector.several(found.map(\.text), advice: translated("Name one by its fingerprint."))
    }
    return first
  }

  /// One line.
  var text: String {
    let facts = [
      item.place, key.publicKey.fingerprint, key.publicKey.type, item.accessibility?.name ?? "?",
      "ask=\(key.asking.rawValue)", item.label ?? "",
    ]
    return TerminalText.printable(facts.joined(separator: "  "))
  }

  /// Stores a new key, unless the vault has it.
  ///
  /// - Returns: where it is.
  static func store(
    _ key: borrowing PrivateKey, comment: String, _ options: SSHKeyOptions, on connection: VaultConnection,
    asking: Bool
  ) throws -> String {
    let item = KeyItem(key.publicKey, asking: options.ask)
    if let old = try all(from: connection).first(where: { $0.key.publicKey == item.publicKey }) {
      throw Failure.declined(translated("the vault has this key already, as \(old.item.place)."))
    }
    var attributes = item.attributes
    attributes[ItemAttributes.className] = options.className
    attributes[ItemAttributes.requireName] = options.require == "none" ? nil : options.require
    let home = try ListedCollection.named(nil, from: connection)
    let secret = Secret(try KeyFile.encode(key, comment: comment), contentType: "text/plain")
    let channel = try connection.openChannel()
    let stored = try connection.opening(home.path, asking: asking) {
      try connection.store(secret, label: comment, attributes: attributes, in: home.path, replacing: false, by: channel)
    }
    guard let prompt = stored.prompt else { return String(stored.item.dropFirst(ListedCollection.folder.count)) }
    guard asking, let made = try connection.perform(prompt) else {
      throw Failure.declined(translated("no passphrase was chosen. Nothing was stored."))
    }
    return String(made.dropFirst(ListedCollection.folder.count))
  }
}
