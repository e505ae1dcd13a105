import CLatchkeyPAMModule

/// Moments that the daemon compares with the moments of its locks.
enum Moment {
  /// Microseconds since the machine started. The time asleep counts, so that a password from before a sleep is older than a lock at
  /// the sleep.
  static var now: UInt64 {
    var time = timespec()
    _ = clock_gettime(CLOCK_BOOTTIME, &time)  // This call cannot fail for this clock.
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec) / 1000
  }
}
