import Keybag

/// What of the access log is in memory: its keys, and what is still to be written.
struct AccessLog {
  /// How many entries may wait for a key, or for room on the disk.
  static let waitingLimit = 64

  /// The newest generation's, then former ones that entries may hang on. Empty before the first unlock.
  var keys: [(epoch: UInt32, key: HeldKey)] = []
  /// The oldest generation of tier keys that an entry hangs on.
  var epoch: UInt32 = 1
  /// What is still to be written, and when it happened.
  private(set) var waiting: [(created: UInt64, event: AccessEvent)] = []
  /// What there was no place for any more, and since when.
  private(set) var lost: (since: UInt64, count: UInt32)?

  /// Everything that is to be written, oldest first.
  var all: [(created: UInt64, event: AccessEvent)] {
    waiting + (lost.map { [($0.since, AccessEvent(.log, .lost, count: $0.count))] } ?? [])
  }

  /// Whether there is no place for one more.
  var isFull: Bool { waiting.count >= AccessLog.waitingLimit }

  mutating func add(_ event: AccessEvent, at time: UInt64) {
    guard isFull else { return waiting.append((time, event)) }
    lost = (lost?.since ?? time, (lost?.count ?? 0).addingReportingOverflow(1).partialValue)
  }

  /// To be called when ``all`` is on the disk.
  mutating func written() { (waiting, lost) = ([], nil) }
}

/// An entry of the access log, as it is read.
public struct AccessLogEntry: Equatable, Sendable {
  /// Its place in the log.
  public let number: UInt64
  /// When it happened, in seconds since 1970.
  public let created: UInt64
  /// Nil for one that is damaged: altered, moved, or not this vault's.
  public let event: AccessEvent?
  /// How many entries that were before it are not there any more, though older ones are.
  public let missing: UInt64
  /// Whether the entry before it is another one than when this was written.
  public let isOutOfPlace: Bool

  /// Puts them together.
  public init(number: UInt64, created: UInt64, event: AccessEvent?, missing: UInt64, isOutOfPlace: Bool) {
    self.number = number
    self.created = created
    self.event = event
    self.missing = missing
    self.isOutOfPlace = isOutOfPlace
  }
}
