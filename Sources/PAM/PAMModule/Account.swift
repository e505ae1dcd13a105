import CLatchkeyPAMModule

/// The account of a user's name.
enum Account {
  /// Room for the line of an account, in bytes.
  private static let room = 16384

  /// The user's number; nil if no account has that name, or the look-up fails.
  ///
  /// This asks the sources that the application has already asked to begin. The line goes into pages of this call, because the
  /// application may use libc's own buffer.
  static func number(of name: UnsafePointer<CChar>) -> UInt32? {
    guard let base = latchkey_map(room) else { return nil }
    defer { _ = munmap(base, room) }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    let error = getpwnam_r(name, &entry, base.assumingMemoryBound(to: CChar.self), room, &found)
    return error == 0 && found != nil ? entry.pw_uid : nil
  }
}
