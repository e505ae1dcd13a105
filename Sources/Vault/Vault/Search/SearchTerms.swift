import LatchkeyKeybag

/// The terms of a search.
public enum SearchTerms: Equatable, Sendable {
  /// Items that have all of these attributes. An empty list finds every item.
  case attributes([String: String])
  /// Items of one class.
  case accessibility(AccessibilityClass)
  /// Items with exactly these requirements, of one class or any. An item whose label cannot be read now is included, because it
  /// may be such an item.
  case access(AccessControl, AccessibilityClass?)
}
