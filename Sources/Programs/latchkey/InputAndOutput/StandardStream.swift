import Glibc
import LatchkeyGettext
import LatchkeyPosix

/// Standard output and standard error. It serves bytes that never become a `String`, and text that must be visible at once, while
/// `print` buffers.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// Whether a person would see the output.
  var isTerminal: Bool { isatty(rawValue) == 1 }

  func write(_ bytes: RawSpan) throws {
    var written = 0
    while written < bytes.byteCount {
      let count = SystemCall.write(rawValue, bytes.extracting(droppingFirst: written))
      if count >= 0 {
        written += count
      } else if !Self.waits(for: rawValue, Int16(POLLOUT)) {
        throw Failure.declined(translated("the output could not be written: \(String(cString: strerror(errno)))."))
      }
    }
  }

  func write(_ text: some StringProtocol) throws { try write(Array(text.utf8).span.bytes) }

  /// Writes text. The text is dropped if nobody can read it any more.
  func show(_ text: String) { try? write(text) }

  /// Handles a failed call, and waits if the pipe was only full. Another program that shares the pipe may have made it
  /// non-blocking.
  ///
  /// - Returns: whether to try again.
  static func waits(for descriptor: Int32, _ events: Int16) -> Bool {
    if errno == EINTR { return true }
    guard errno == EAGAIN else { return false }
    var item = pollfd(fd: descriptor, events: events, revents: 0)
    while poll(&item, 1, -1) < 0 && errno == EINTR {}
    return true
  }
}
