import LatchkeyKeybag

/// What a search is for.
public enum ItemQuery: Equatable, Sendable {
  /// Items that have all of these attributes; every item for none.
  case attributes([String: String])
  /// Items of one class.
  case accessibility(AccessibilityClass)
  /// Items that require just this, of one class or any. An item whose label would tell, and cannot be read now, is among
  /// them: it may be one.
  case access(AccessControl, AccessibilityClass?)
}

/// A found item.
public struct FoundItem: Equatable, Sendable {
  /// Its number: never used again for another one.
  public let id: Int64
  /// The collection it is in.
  public let collection: Int64
  /// Whether its secret can be read now.
  public let readability: Readability
}
