/// How many generations of a vault are kept, and for how long.
public struct HistoryPolicy: Equatable, Sendable {
  /// Whether there are any. Those that are there are removed where not.
  public var isOn = true
  /// Of how many hours the last generation is kept, of how many days, and of how many weeks: of the newest ones that have any.
  public var hourly = 24
  /// See ``hourly``.
  public var daily = 7
  /// See ``hourly``.
  public var weekly = 5
  /// After how many days a generation is removed in any case.
  public var days = 31
  /// How many bytes all of them may have together; nil for ``defaultSize(of:)``.
  public var size: Int?

  /// The usual numbers.
  public init() {}

  /// The default limit for all generations together, in bytes: eight times the database, and at least 64 MiB.
  static func defaultSize(of database: Int) -> Int {
    max(database.multipliedReportingOverflow(by: 8).partialValue, 64 << 20)
  }
}
