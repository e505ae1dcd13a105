/// An entry of the access log, as it is read.
public struct AccessLogEntry: Equatable, Sendable {
  /// The entry's place in the log.
  public let number: UInt64
  /// When the event happened, in seconds since 1970.
  public let created: UInt64
  /// The event; nil for a damaged entry, which was altered, moved, or is not this vault's.
  public let event: AccessEvent?
  /// The number of entries before it that are missing, though older ones exist.
  public let missing: UInt64

  /// Puts them together.
  public init(number: UInt64, created: UInt64, event: AccessEvent?, missing: UInt64) {
    self.number = number
    self.created = created
    self.event = event
    self.missing = missing
  }
}
