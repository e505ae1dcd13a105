import Glibc
import LatchkeySodium
import Synchronization

/// Signals that would end the program, while there is something to clean up first.
enum Interruption {
  private static let arrived = Atomic<Int32>(0)
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  /// From now on, only notes these signals.
  static func hold() {
    for number in signals { signal(number) { Interruption.arrived.store($0, ordering: .relaxed) } }
  }

  /// Whether a signal came.
  static var hasArrived: Bool { arrived.load(ordering: .relaxed) != 0 }

  /// Lets signals act as usual again, and drops a signal that came. It came too late, because the work is done.
  static func forget() {
    arrived.store(0, ordering: .relaxed)
    release()
  }

  /// Lets signals act as usual again. A signal that came before acts now.
  static func release() {
    for number in signals { signal(number, SIG_DFL) }
    Sodium.eraseWhenEnded()
    let number = arrived.exchange(0, ordering: .relaxed)
    if number != 0 { raise(number) }
  }
}
