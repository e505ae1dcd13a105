import LatchkeyClassRules
import LatchkeyKeybag
import LatchkeySodium

/// The keyed index by which items are found without opening them.
///
/// Each attribute becomes a token, a keyed hash of its name and value. A search looks for rows that have all of its tokens. One
/// more token stands for the whole set, so that an item with exactly these attributes is found at once. The index key is
/// wrapped by the device key, so that items can be found, locked, before the first login.
struct AttributeIndex {
  private let held: HeldKey
  /// The size of a token, in bytes.
  static let tokenSize = 16

  init(_ key: consuming Key) {
    held = HeldKey(key)
  }

  /// Lends the index key, to wrap it for another device.
  func withKey<Result>(_ body: (borrowing Key) throws(VaultError) -> Result) throws(VaultError) -> Result {
    try body(held.key)
  }

  /// Whether both indexes have the same key.
  func isSame(as other: AttributeIndex) throws(VaultError) -> Bool {
    Sodium.equal(try aliasToken(""), try other.aliasToken(""))
  }

  private func tag(_ label: KeyLabel, _ inputs: [[UInt8]]) throws(VaultError) -> [UInt8] {
    do { return try held.key.tag(label, inputs, length: AttributeIndex.tokenSize) } catch { throw .outOfMemory }
  }

  /// The tokens of `attributes`, sorted.
  func tokens(of attributes: [String: String]) throws(VaultError) -> [[UInt8]] {
    var tokens: [[UInt8]] = []
    for (name, value) in attributes {
      tokens.append(try tag(.attributeToken, [Array(name.utf8), Array(value.utf8)]))
    }
    return tokens.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The token of exactly this set of attributes.
  func setToken(of tokens: [[UInt8]]) throws(VaultError) -> [UInt8] {
    try tag(.attributeSetToken, tokens)
  }

  /// The tokens of every set that means the same as `attributes` (``GenericSchema``).
  func setTokens(of attributes: [String: String]) throws(VaultError) -> [[UInt8]] {
    var found: [[UInt8]] = []
    for spelling in GenericSchema.spellings(of: attributes) {
      found.append(try setToken(of: try tokens(of: spelling)))
    }
    return found
  }

  /// The token of the attribute that names a schema.
  func schemaToken(_ schema: String) throws(VaultError) -> [UInt8] {
    try tag(.attributeToken, [Array(GenericSchema.attribute.utf8), Array(schema.utf8)])
  }

  /// The token of an alias's name.
  func aliasToken(_ name: String) throws(VaultError) -> [UInt8] {
    try tag(.aliasToken, [Array(name.utf8)])
  }

  /// The tokens for a row. The last token is the whole set's.
  func column(for attributes: [String: String]) throws(VaultError) -> [UInt8] {
    let tokens = try tokens(of: attributes)
    return tokens.flatMap { $0 } + (try setToken(of: tokens))
  }

  /// The tokens in a row's column.
  static func split(_ column: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: column.count - column.count % tokenSize, by: tokenSize).map {
      Array(column[$0..<($0 + tokenSize)])
    }
  }

  /// The key that seals the labels of collections. It is derived from the index key.
  func collectionLabelKey() throws(VaultError) -> Key {
    do { return try held.key.derive(.collectionLabel) } catch { throw .outOfMemory }
  }
}
