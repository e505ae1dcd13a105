import Glibc

/// A pipe that no other program inherits.
struct WakingPipe {
  let (reading, writing): (Int32, Int32)

  /// Nil if the process has no free descriptors.
  init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (ends[0], ends[1])
  }

  /// Makes reads and writes at both ends return at once.
  func neverWait() {
    for end in [reading, writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  }
}
