import CLatchkeyPAMModule

/// A moment on the monotonic clock. Setting the wall clock does not change it, and time asleep does not count.
struct Deadline {
  private let moment: Int64

  /// Milliseconds since some fixed moment.
  static var now: Int64 {
    var time = timespec()
    _ = clock_gettime(CLOCK_MONOTONIC, &time)  // This call cannot fail for this clock.
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
  }

  init(after milliseconds: Int64) { moment = Deadline.now &+ milliseconds }

  /// The time that is left, in milliseconds; never negative.
  var left: Int64 {
    let difference = moment &- Deadline.now
    return difference > 0 ? difference : 0
  }

  /// The moment that is `milliseconds` before this one.
  func sooner(by milliseconds: Int64) -> Deadline { Deadline(after: left &- milliseconds) }

  /// This moment, or `milliseconds` from now if that is sooner.
  func orSooner(_ milliseconds: Int64) -> Deadline {
    Deadline(after: left < milliseconds ? left : milliseconds)
  }
}
