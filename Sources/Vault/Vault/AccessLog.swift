import LatchkeyKeybag

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
