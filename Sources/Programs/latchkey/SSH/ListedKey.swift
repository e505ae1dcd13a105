import LatchkeyGettext
import LatchkeySSHProtocol
import LatchkeySecretClient
import LatchkeySystemd

/// A key of the vault, as the command line lists it.
struct ListedKey: Encodable {
  /// Whether a key can sign.
  enum State: String {
    /// The key can sign, after the agent's question if the key asks.
    case ready
    /// The key can sign after the person has met its requirements.
    case asks
    /// The key cannot sign.
    case locked
  }

  let item: ListedItem
  let key: KeyItem
  /// Known only after ``described(_:from:)``.
  var state = State.ready

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

  /// The only key that a word names.
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

  /// The keys, with the reasons why they are locked.
  static func described(_ keys: [ListedKey], from connection: VaultConnection) throws -> [ListedKey] {
    let items = try ListedItem.described(keys.map(\.item), from: connection)
    let isUnlocked = connection.state == "unlocked"
    return zip(keys, items).map { key, item in
      let asks = item.isLocked && item.require?.isEmpty == false && isUnlocked
      return ListedKey(item: item, key: key.key, state: item.isLocked ? (asks ? .asks : .locked) : .ready)
    }
  }

  /// Whether the key can sign now, for a person.
  var stateText: String {
    switch state {
    case .ready: return translated("can sign now")
    case .asks:
      let require = item.require ?? ""
      return translated("requires \(require) at each signature")
    case .locked:
      let why = item.reason ?? ""
      return translated("locked: \(why)")
    }
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
  /// - Returns: the place of the key's item.
  static func store(
    _ key: borrowing PrivateKey, comment: String, _ options: SSHKeyOptions, provider: String? = nil,
    on connection: VaultConnection, asking: Bool
  ) throws -> String {
    let item = KeyItem(key.publicKey, asking: options.ask, provider: provider)
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

  private enum CodingKeys: String, CodingKey {
    case path, comment, fingerprint, type, public_key, `class`, require, ask, state, reason
  }

  /// Every ssh key has the same keys in JSON.
  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(item.place, forKey: .path)
    try out.encode(item.label, forKey: .comment)
    try out.encode(key.publicKey.fingerprint, forKey: .fingerprint)
    try out.encode(key.publicKey.type, forKey: .type)
    try out.encode(key.publicKey.line(comment: ""), forKey: .public_key)
    try out.encode(item.accessibility?.name, forKey: .class)
    try out.encode(item.require, forKey: .require)
    try out.encode(key.asking.rawValue, forKey: .ask)
    try out.encode(state.rawValue, forKey: .state)
    try out.encode(item.reason, forKey: .reason)
  }
}
