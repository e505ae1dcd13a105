import CLatchkeyPAMModule

/// Moments that the daemon compares with those of its locks.
enum Moment {
  /// Microseconds since the machine started. The time that it slept counts, so a password from before the sleep is older than
  /// the sleep.
  static var now: UInt64 {
    var time = timespec()
    _ = clock_gettime(CLOCK_BOOTTIME, &time)  // cannot fail for this clock
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec) / 1000
  }
}
