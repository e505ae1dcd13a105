/// A found item.
public struct FoundItem: Equatable, Sendable {
  /// The item's number. No other item ever has that number.
  public let id: Int64
  /// The item's collection.
  public let collection: Int64
  /// Whether the item's secret can be read now.
  public let readability: Readability
  /// When the item was last changed, in seconds since 1970.
  public let modified: UInt64

  /// The order in which a search returns items: the most recently changed first, and the higher number first within one second.
  public static func comesFirst(_ one: FoundItem, _ other: FoundItem) -> Bool {
    (one.modified, one.id) > (other.modified, other.id)
  }
}
