import Foundation
import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySodium
import LatchkeySystemd

/// A connection to the vault, with an encrypted session for secrets. A person's answer counts only for one connection.
final class VaultLink {
  private static let interface = "org.latchkey.Keychain"
  private static let root = ServiceConnection.root
  /// The most sets that one search can have.
  private static let setLimit = 64
  /// The most items that one call deletes.
  static let deletionLimit = 4096

  let connection: ServiceConnection
  let channel: SecretChannel

  /// Connects.
  ///
  /// - Parameter reuse: for how many seconds a person's answer allows reading again; 0 for one use.
  init(reuse: UInt32 = 0) throws(ConnectionFailure) {
    // Calling this again is harmless, if the program has already called it.
    do { try Sodium.initialize() } catch { throw .broken(.failed("libsodium did not start")) }
    connection = try ServiceConnection()
    do throws(BusError) {
      channel = try SecretChannel(connection)
      guard reuse > 0 else { return }
      try connection.call(Self.root, "org.latchkey.Service", "SetReuse") {
        $0.appendUInt32(reuse)
      } read: { _ in
      }
    } catch { throw .broken(error) }
  }

  // MARK: - items

  /// Finds the items that have all attributes of one of the sets.
  ///
  /// - Parameters:
  ///   - limit: the most items to return; 0 for all.
  ///   - secrets: whether the secrets are wanted.
  func find(_ sets: [[String: String]], limit: UInt32, secrets: Bool) throws(BusError) -> FoundItems {
    guard sets.count > Self.setLimit else { return try ask(sets, limit: limit, secrets: secrets) }
    var all = FoundItems()
    var seen: Set<String> = []
    for start in stride(from: 0, to: sets.count, by: Self.setLimit) {
      let part = Array(sets[start..<min(start + Self.setLimit, sets.count)])
      let found = try ask(part, limit: 0, secrets: secrets)
      all.isScreenLocked = all.isScreenLocked || found.isScreenLocked
      all.items += found.items.filter { seen.insert($0.path).inserted }
      all.secrets.merge(found.secrets) { first, _ in first }
    }
    // An identifier starts with the item's number, so this sorts by number.
    all.items.sort { $0.identifier.lexicographicallyPrecedes($1.identifier) }
    return all
  }

  private func ask(_ sets: [[String: String]], limit: UInt32, secrets: Bool) throws(BusError) -> FoundItems {
    try connection.call(Self.root, Self.interface, "Find") { out in
      out.open("a", "a{ss}")
      for set in sets { out.appendStringDictionary(set) }
      out.close()
      out.appendUInt32(limit)
      out.appendObjectPath(secrets ? channel.path : ServiceConnection.none)
    } read: { (answer: Message) throws(BusError) in
      try readFound(answer)
    }
  }

  /// Reads one item.
  func read(_ identifier: Data, secret: Bool) throws(BusError) -> FoundItems {
    try connection.call(Self.root, Self.interface, "Read") { out in
      out.appendBytes(Array(identifier))
      out.appendObjectPath(secret ? channel.path : ServiceConnection.none)
    } read: { (answer: Message) throws(BusError) in
      try readFound(answer)
    }
  }

  private func readFound(_ answer: Message) throws(BusError) -> FoundItems {
    var found = FoundItems()
    found.isScreenLocked = try answer.readBool()
    found.items = try answer.readArray("(oaya{ss}sttssyb)") { (item: Message) throws(BusError) in
      try item.readStruct("oaya{ss}sttssyb") { (field: Message) throws(BusError) in try VaultItem(field) }
    }
    try answer.readDictionary("o(oayays)") { (entry: Message) throws(BusError) in
      let path = try entry.readObjectPath()
      found.secrets[path] = try channel.read(from: entry)
    }
    return found
  }

  /// Stores an item.
  ///
  /// - Returns: the item's identifier, or the prompt that must come first.
  func add(
    _ item: WrittenItem, _ protection: Protection, secret: Secret
  ) throws(BusError) -> (identifier: Data, prompt: String?) {
    var attributes = item.attributes
    attributes[WrittenItem.accessibleName] = protection.accessible.name
    if protection.control.requiresAnything { attributes[WrittenItem.requireName] = protection.control.text }
    return try connection.call(Self.root, Self.interface, "Add") { out throws(BusError) in
      out.appendItemProperties(label: item.label, attributes: attributes)
      try channel.write(secret, to: &out)
      out.appendStringDictionary(item.unique)
    } read: { (answer: Message) throws(BusError) in
      try answer.skip()
      let identifier = try Data(answer.readOctets())
      let prompt = try answer.readObjectPath()
      return (identifier, prompt == ServiceConnection.none ? nil : prompt)
    }
  }

  /// The change of an item.
  struct Change: Equatable {
    let path: String
    /// Label and attributes; nil if they stay.
    let item: WrittenItem?
    /// The class; nil if it stays. It is sent among the attributes.
    let accessible: AccessibilityClass?
  }

  /// Changes all items or none. If there is a secret, all items get it.
  func update(_ changes: [Change], secret: Secret?) throws(BusError) {
    // If there is no new secret, the message still needs a secret of the right form, so this sends an empty one.
    let sent: Secret
    if let secret { sent = secret } else { sent = try Secret(copying: RawSpan()) }
    try connection.call(Self.root, Self.interface, "Update") { out throws(BusError) in
      out.open("a", "(oa{sv}a{ss})")
      for change in changes {
        out.open("r", "oa{sv}a{ss}")
        out.appendObjectPath(change.path)
        var attributes = change.item?.attributes
        if let accessible = change.accessible { attributes?[WrittenItem.accessibleName] = accessible.name }
        out.appendItemProperties(label: change.item?.label, attributes: attributes)
        out.appendStringDictionary(change.item?.unique ?? [:])
        out.close()
      }
      out.close()
      out.appendBool(secret != nil)
      try channel.write(sent, to: &out)
    } read: { _ in
    }
  }

  /// Changes an item's requirements and class.
  /// - Returns: the prompt that must come first; nil if none is needed.
  func setAccess(of path: String, to protection: Protection) throws(BusError) -> String? {
    try connection.call(path, ServiceConnection.itemAccess, "SetAccess") { out in
      out.appendDictionary("sv") { all in
        all.appendText("accessible", protection.accessible.name)
        all.appendText("require", protection.control.text)
      }
    } read: { (answer: Message) throws(BusError) in
      let prompt = try answer.readObjectPath()
      return prompt == ServiceConnection.none ? nil : prompt
    }
  }

  /// Deletes items, even locked ones.
  ///
  /// - Returns: how many of the items existed.
  func delete(_ items: ArraySlice<VaultItem>) throws(BusError) -> Int {
    try connection.call(Self.root, Self.interface, "Delete") { out in
      out.appendArray("(oay)", of: items) { out, item in
        out.open("r", "oay")
        out.appendObjectPath(item.path)
        out.appendBytes(Array(item.identifier))
        out.close()
      }
    } read: { (answer: Message) throws(BusError) in
      Int(try answer.readUInt32())
    }
  }
}

extension WrittenItem {
  /// The attributes that no other item may have; empty for an item that `SecItemAdd` did not store.
  var unique: [String: String] { attributes.filter { $0.key == OwnName.key } }
}

extension VaultItem {
  /// Reads the fields of one item.
  fileprivate init(_ field: Message) throws(BusError) {
    path = try field.readObjectPath()
    identifier = try Data(field.readOctets())
    attributes = try field.readStringDictionary()
    label = try field.readString()
    created = try field.readUInt64()
    modified = try field.readUInt64()
    accessible = try field.readString()
    require = try field.readString()
    // A later version of the vault may send an unknown state, which counts as locked.
    state = State(rawValue: try field.readByte()) ?? .locked
    isKnown = try field.readBool()
  }
}

extension MessageWriter {
  /// Appends a text entry of an `a{sv}`.
  mutating func appendText(_ name: String, _ text: String) {
    appendProperty(name, "s") { $0.appendString(text) }
  }
}

extension Secret {
  /// Copies foreign bytes into locked memory.
  convenience init(copying bytes: RawSpan) throws(BusError) {
    do {
      // Another thread may already have initialised libsodium, which is harmless.
      try Sodium.initialize()
      self.init(try SecureBytes(copying: bytes))
    } catch { throw BusError(name: ItemFailure.noMemoryName, message: "no memory for a secret") }
  }

  /// Copies a program's bytes into locked memory.
  static func of(_ data: Data) throws(ItemFailure) -> Secret {
    do throws(BusError) { return try Secret(copying: data.bytes) } catch { throw ItemFailure(error) }
  }

  /// A copy of the bytes in ordinary memory, for the program.
  var data: Data { withBytes { bytes in bytes.withUnsafeBytes { Data($0) } } }
}
