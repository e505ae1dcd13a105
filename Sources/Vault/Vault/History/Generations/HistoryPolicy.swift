/// How many generations of a vault are kept, and for how long.
public struct HistoryPolicy: Equatable, Sendable {
  /// Whether generations are kept. If not, existing generations are removed.
  public var isOn = true
  /// For how many hours the last generation of the hour is kept; likewise for days and weeks. Only hours, days and weeks
  /// that have a generation count, the newest first.
  public var hourly = 24
  /// See ``hourly``.
  public var daily = 7
  /// See ``hourly``.
  public var weekly = 5
  /// After how many days a generation is removed in any case.
  public var days = 31
  /// How many bytes all generations may have together; nil for ``defaultSize(of:)``.
  public var size: Int?

  /// The usual numbers.
  public init() {}

  /// The default limit for all generations together, in bytes: eight times the database, and at least 64 MiB.
  static func defaultSize(of database: Int) -> Int {
    max(database.multipliedReportingOverflow(by: 8).partialValue, 64 << 20)
  }
}
