/// A found item.
public struct FoundItem: Equatable, Sendable {
  /// Its number: never used again for another one.
  public let id: Int64
  /// The collection it is in.
  public let collection: Int64
  /// Whether its secret can be read now.
  public let readability: Readability
}
