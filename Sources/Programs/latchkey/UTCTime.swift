import FoundationEssentials

/// A moment as JSON has it, in UTC.
enum UTCTime {
  /// As in "2026-11-22T17:44:05Z".
  ///
  /// - Parameter seconds: since 1970. A file can say anything, so a time beyond any calendar is cut.
  static func text(_ seconds: UInt64) -> String {
    Date(timeIntervalSince1970: TimeInterval(min(seconds, 1 << 40))).ISO8601Format()
  }
}
