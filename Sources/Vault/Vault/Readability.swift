/// Whether an item's secret can be read now.
public enum Readability: Equatable, Sendable {
  /// A key is missing.
  case locked
  /// The keys are there, but the item asks for something else (``AccessControl``), for each read anew.
  case guarded
  /// It can be read.
  case open
}
