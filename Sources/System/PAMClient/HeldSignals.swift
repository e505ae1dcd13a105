import CLatchkeyLinux
import Glibc
import LatchkeyPosix

/// Signals that are kept from this thread for a moment. On release, each has its usual effect.
final class HeldSignals {
  private let waiting: FileDescriptor
  private var mask = sigset_t()

  /// - Throws: ``PosixError``; nothing is held then.
  init(_ signals: [Int32]) throws(PosixError) {
    var held = sigset_t()
    sigemptyset(&held)
    for signal in signals { sigaddset(&held, signal) }
    let number = linux_signals(&held)
    guard number >= 0 else { throw PosixError("signalfd") }
    waiting = FileDescriptor(owning: number)
    let status = pthread_sigmask(SIG_BLOCK, &held, &mask)
    guard status == 0 else { throw PosixError("sigmask", code: status) }
  }

  /// Waits until `descriptor` can be read.
  ///
  /// - Returns: false if one of the signals came first.
  func wait(for descriptor: Int32) throws(PosixError) -> Bool {
    var items = [waiting.number, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while poll(&items, 2, -1) < 0 {
      guard errno == EINTR else { throw PosixError("poll") }
    }
    // The signal itself stays pending until release().
    return items[0].revents == 0
  }

  /// Lets the signals come. A signal that ends the program does so before this returns.
  func release() {
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }
}
