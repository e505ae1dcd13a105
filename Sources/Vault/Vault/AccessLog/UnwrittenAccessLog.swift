import LatchkeyAccessEvent
import LatchkeyKeybag

/// Entries of the access log that are still to be written, in memory.
struct UnwrittenAccessLog {
  /// The most entries that may wait for a key, or for room on the disk.
  static let limit = 64

  /// The entries, each with its time.
  private var entries: [(created: UInt64, event: AccessEvent)] = []
  /// The number of entries that were lost because too many waited, and the time of the first.
  private var lost: (since: UInt64, count: UInt32)?

  /// Everything that must be written, oldest first.
  var all: [(created: UInt64, event: AccessEvent)] {
    entries + (lost.map { [($0.since, AccessEvent(.log, .lost, count: $0.count))] } ?? [])
  }

  /// Whether no further entry has room.
  var isFull: Bool { entries.count >= UnwrittenAccessLog.limit }

  mutating func add(_ event: AccessEvent, at time: UInt64) {
    guard isFull else { return entries.append((time, event)) }
    lost = (lost?.since ?? time, (lost?.count ?? 0).addingReportingOverflow(1).partialValue)
  }
}
