/// An entry of the access log, in the form for readers.
public struct AccessLogEntry: Equatable, Sendable {
  /// The entry's place in the log.
  public let number: UInt64
  /// When the event happened, in seconds since 1970.
  public let created: UInt64
  /// The event; nil for a damaged entry, which was altered, moved, or is not this vault's.
  public let event: AccessEvent?
  /// The number of missing entries before this entry, if older entries exist.
  public let missing: UInt64

  /// Puts the values together.
  public init(number: UInt64, created: UInt64, event: AccessEvent?, missing: UInt64) {
    self.number = number
    self.created = created
    self.event = event
    self.missing = missing
  }
}
