import Glibc
import Synchronization

/// Signals that would end the program, while there is something to clean up first.
enum Interruption {
  private static let arrived = Atomic<Int32>(0)
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  /// Only notes them from now on.
  static func hold() {
    for number in signals { signal(number) { Interruption.arrived.store($0, ordering: .relaxed) } }
  }

  /// Whether one came.
  static var hasArrived: Bool { arrived.load(ordering: .relaxed) != 0 }

  /// Lets them do what they always do, but for one that came too late: what it would have ended is done.
  static func forget() {
    arrived.store(0, ordering: .relaxed)
    release()
  }

  /// Lets them do what they always do; one that came does it now.
  static func release() {
    for number in signals { signal(number, SIG_DFL) }
    let number = arrived.exchange(0, ordering: .relaxed)
    if number != 0 { raise(number) }
  }
}
