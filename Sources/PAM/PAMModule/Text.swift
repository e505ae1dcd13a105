import CLatchkeyPAMModule

/// A run of bytes that somebody else owns (libpam, the service file, a literal, a locked page).
/// Valid only for the call in which it was made. Nothing is copied, so nothing is left to erase.
struct Text {
  let start: UnsafeRawPointer?
  /// Bytes; 0 when `start` is nil.
  let count: Int

  static var empty: Text { Text(start: nil, count: 0) }

  init(start: UnsafeRawPointer?, count: Int) {
    self.start = start
    self.count = start == nil ? 0 : count
  }

  /// At most `limit` + 1 bytes of a C string. One byte more than the limit shows that the text is too long, without reading on.
  init(_ string: UnsafePointer<CChar>?, limit: Int) {
    guard let string else {
      self = .empty
      return
    }
    self.init(start: UnsafeRawPointer(string), count: strnlen(string, limit &+ 1))
  }

  var isEmpty: Bool { count == 0 }
}
