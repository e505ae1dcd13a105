import CLatchkeyPAMModule

/// A run of bytes that somebody else owns (libpam, the service file, a literal, a locked page). A value is valid only during the
/// call that made it. It copies no bytes, so nobody has to erase it.
struct Text {
  let start: UnsafeRawPointer?
  /// The number of bytes; 0 if `start` is nil.
  let count: Int

  static var empty: Text { Text(start: nil, count: 0) }

  init(start: UnsafeRawPointer?, count: Int) {
    self.start = start
    self.count = start == nil ? 0 : count
  }

  /// Takes at most `limit` + 1 bytes of a C string. The one additional byte shows that a text is too long.
  init(_ string: UnsafePointer<CChar>?, limit: Int) {
    guard let string else {
      self = .empty
      return
    }
    self.init(start: UnsafeRawPointer(string), count: strnlen(string, limit &+ 1))
  }

  var isEmpty: Bool { count == 0 }
}
