import LatchkeyKeybag

/// The terms of a search.
public enum SearchTerms: Equatable, Sendable {
  /// Items that have all of these attributes; every item for none.
  case attributes([String: String])
  /// Items of one class.
  case accessibility(AccessibilityClass)
  /// Items that require just this, of one class or any. An item whose label would tell, and cannot be read now, is among
  /// them: it may be one.
  case access(AccessControl, AccessibilityClass?)
}
