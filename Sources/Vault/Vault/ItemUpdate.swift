import LatchkeyKeybag
import LatchkeySodium

/// What is to become of an item that is there already; what is nil stays.
public struct ItemUpdate: Equatable, Sendable {
  /// The item's number.
  public let item: Int64
  /// Another label.
  public let label: String?
  /// Other attributes, in the place of all that it has.
  public let attributes: [String: String]?
  /// Another class.
  public let accessibility: AccessibilityClass?
  /// Attributes that no other item of the vault may have afterwards, all of them together; none for no such rule.
  public let unique: [String: String]

  /// Puts them together.
  public init(
    item: Int64, label: String? = nil, attributes: [String: String]? = nil, accessibility: AccessibilityClass? = nil,
    unique: [String: String] = [:]
  ) {
    self.item = item
    self.label = label
    self.attributes = attributes
    self.accessibility = accessibility
    self.unique = unique
  }

  func apply(to metadata: inout ItemMetadata) {
    if let label { metadata.label = label }
    if let attributes { metadata.attributes = attributes }
  }
}

/// The next versions of items, sealed: written together, or not at all.
private struct SealedUpdates {
  /// Each with the tokens of what no other item may have.
  private(set) var rows: [(row: ItemRow, unique: [[UInt8]])] = []
  private var size = 0

  /// The most that is written at once, in bytes: all of it is in memory before.
  private static let sizeLimit = 64 << 20

  mutating func append(_ row: ItemRow, unique: [[UInt8]]) throws(VaultError) {
    size += row.secret.count + row.metadata.count + row.tokens.count
    guard size <= SealedUpdates.sizeLimit else { throw .tooLarge }
    rows.append((row, unique))
  }
}

extension Vault {
  /// Changes items whose secrets stay: all of them, or none. Each is named once.
  ///
  /// - Parameter granted: what a person gave for an item that asks for something.
  /// - Throws: as ``update(item:accessibility:granted:_:)``; ``VaultError/duplicate`` where an item would not be the only one
  ///   with what it alone may have, as all of them are afterwards: items may exchange their attributes.
  public func write(
    _ updates: [ItemUpdate], granted: (Int64) -> AccessGrant? = { _ in nil }
  ) throws(VaultError) {
    var sealed = SealedUpdates()
    for update in updates {
      let row = try updated(item: update.item, accessibility: update.accessibility, granted: granted(update.item)) {
        update.apply(to: &$0)
      }
      try sealed.append(row, unique: try tokens(of: update.unique))
    }
    try write(sealed)
  }

  /// The same for items that get another secret as well. They must be such that can be read now.
  public func write(
    _ updates: [ItemUpdate], secret: borrowing SecureBytes, contentType: String,
    granted: (Int64) -> AccessGrant? = { _ in nil }
  ) throws(VaultError) {
    var sealed = SealedUpdates()
    for update in updates {
      let item = try locate(update.item)
      let grant = granted(update.item)
      var next = try readable(item, grant)
      if let accessibility = update.accessibility { try checkMayMove(item, to: accessibility) }
      update.apply(to: &next)
      next.contentType = contentType
      let row = try rewritten(
        item, next, secret: secret, accessibility: update.accessibility, passphraseKey: grant?.passphraseKey)
      try sealed.append(row, unique: try tokens(of: update.unique))
    }
    try write(sealed)
  }

  private func write(_ updates: SealedUpdates) throws(VaultError) {
    let claims = updates.rows.map(\.unique).filter { !$0.isEmpty }
    guard Set(claims).count == claims.count else { throw .duplicate }
    try writing { store throws(VaultError) in
      for (row, _) in updates.rows { try store.update(row) }
      for (row, unique) in updates.rows where !unique.isEmpty {
        for place in try store.places(withTokens: unique) {
          guard place.item == row.id else { throw VaultError.duplicate }
        }
      }
    }
  }

  /// Refuses attributes that an item has already, all of them together; none are no such rule.
  ///
  /// - Throws: ``VaultError/duplicate``.
  public func checkIsNew(_ unique: [String: String]) throws(VaultError) {
    guard !unique.isEmpty else { return }
    guard try search(.attributes(unique)).isEmpty else { throw .duplicate }
  }

  private func tokens(of unique: [String: String]) throws(VaultError) -> [[UInt8]] {
    unique.isEmpty ? [] : try readyIndex().tokens(of: unique)
  }
}
