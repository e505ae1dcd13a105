/// The number of generations that a vault keeps, and the time for which it keeps them.
public struct HistoryPolicy: Equatable, Sendable {
  /// Whether generations are kept. If not, existing generations are removed.
  public var isOn = true
  /// The number of hours whose last generation is kept; the two next fields are the same for days and weeks. The newest hours, days
  /// and weeks are taken, and one without a generation does not count.
  public var hourly = 24
  /// See ``hourly``.
  public var daily = 7
  /// See ``hourly``.
  public var weekly = 5
  /// The number of days after which a generation is removed in any case.
  public var days = 31
  /// The limit of the size of all generations together, in bytes; nil for ``defaultSize(of:)``.
  public var size: Int?

  /// The usual numbers.
  public init() {}

  /// The default limit for all generations together, in bytes: eight times the database, and at least 64 MiB.
  static func defaultSize(of database: Int) -> Int {
    max(database.multipliedReportingOverflow(by: 8).partialValue, 64 << 20)
  }
}
