import Glibc

/// Standard output, for bytes that never become a `String`.
enum StandardOutput {
  /// Whether a person would see what is written.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  static func write(_ bytes: RawSpan) throws {
    var written = 0
    while written < bytes.byteCount {
      let count = bytes.withUnsafeBytes { all in
        let rest = UnsafeRawBufferPointer(rebasing: all[written...])
        return Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
      }
      if count >= 0 {
        written += count
      } else if !waits(for: STDOUT_FILENO, Int16(POLLOUT)) {
        throw Failure.declined("the output could not be written: \(String(cString: strerror(errno))).")
      }
    }
  }

  static func write(_ text: some StringProtocol) throws { try write(Array(text.utf8).span.bytes) }

  /// After a call that failed: waits where it was only too early, as others who have the same pipe may have made it one
  /// that does not block.
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
