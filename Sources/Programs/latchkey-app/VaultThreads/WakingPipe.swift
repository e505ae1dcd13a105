import Glibc

/// A pipe that no other program inherits.
struct WakingPipe {
  let (reading, writing): (Int32, Int32)

  /// Nil without descriptors.
  init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (ends[0], ends[1])
  }

  /// Neither end waits from now on.
  func neverWait() {
    for end in [reading, writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  }
}
