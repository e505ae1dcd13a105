import LatchkeyKeybag
import LatchkeySodium

/// A change of an existing item; nil values stay.
public struct ItemUpdate: Equatable, Sendable {
  /// The item's number.
  public let item: Int64
  /// Another label.
  public let label: String?
  /// Other attributes, which replace all present attributes.
  public let attributes: [String: String]?
  /// Another class.
  public let accessibility: AccessibilityClass?
  /// Attributes that no other item of the vault may have together afterwards; empty without such a rule.
  public let unique: [String: String]

  /// Puts the values together.
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
struct SealedUpdates {
  /// Each version with the tokens of attributes that no other item may have.
  private(set) var rows: [(row: ItemRow, unique: [[UInt8]])] = []
  private var size = 0

  /// The most bytes that are written in one transaction, because all of the bytes are in memory before.
  private static let sizeLimit = 64 << 20

  mutating func append(_ row: ItemRow, unique: [[UInt8]]) throws(VaultError) {
    size += row.secret.count + row.metadata.count + row.tokens.count
    guard size <= SealedUpdates.sizeLimit else { throw .tooLarge }
    rows.append((row, unique))
  }
}
