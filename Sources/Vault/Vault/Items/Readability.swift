/// Whether an item's secret can be read now.
public enum Readability: Equatable, Sendable {
  /// A key is missing.
  case locked
  /// The keys are in memory, but each read requires something else (``AccessControl``).
  case guarded
  /// The secret can be read.
  case open
}
