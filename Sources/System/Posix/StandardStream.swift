import Glibc

/// Standard output and standard error, for text that must be seen at once: `print` waits until its buffer is full.
public enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Writes all of the text, waiting where the reader is slow. Text that nobody can read any more is dropped.
  public func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var written = 0
      while written < bytes.count {
        let count = Glibc.write(rawValue, bytes.baseAddress.map { $0 + written }, bytes.count - written)
        if count < 0 {
          guard errno == EINTR else { return }
        } else {
          written += count
        }
      }
    }
  }
}
