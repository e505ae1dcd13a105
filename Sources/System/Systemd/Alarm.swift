import Glibc

/// A signal that comes when a turn of the event loop takes longer than a moment, and then again and again until the turn ends.
/// The signal ends a wait of the turn in the kernel.
///
/// A sender can put descriptors into a message, and close its own copies. This process then has the last descriptor of a network
/// connection. When it closes that descriptor, the kernel waits for the connection's peer as long as the sender wished (SO_LINGER).
/// This also happens if the descriptor is unread in a local socket, or was not requested.
enum Alarm {
  private static let interval = 100_000
  /// The interval while only long waits are expected: others may queue thousands of waits.
  private static let shortInterval = 200

  /// Installs a handler that does nothing. Calls that read or write are restarted by themselves.
  private static let isReady: Bool = {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    action.sa_flags = SA_RESTART
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGALRM)
    return sigaction(SIGALRM, &action, nil) == 0 && pthread_sigmask(SIG_UNBLOCK, &set, nil) == 0
  }()

  /// A turn begins.
  static func set() {
    guard isReady else { return }
    every(interval)
  }

  /// From now on the turn only closes descriptors that others may have filled.
  static func hurry() {
    guard isReady else { return }
    every(shortInterval)
  }

  /// The turn has ended.
  static func clear() { every(0) }

  private static func every(_ microseconds: Int) {
    let time = timeval(tv_sec: 0, tv_usec: microseconds)
    var timer = itimerval(it_interval: time, it_value: time)
    setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
  }
}
