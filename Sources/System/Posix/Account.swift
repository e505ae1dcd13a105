import Glibc

/// A user of the system, with the facts from the password database.
public struct Account: Sendable {
  /// The user's number.
  public let uid: uid_t
  /// The user's own group.
  public let gid: gid_t
  /// The login name.
  public let name: String
  /// The home folder.
  public let home: String
  /// Whether the password is in the shadow file, as `x` in the password database says. With any other value, the shadow file does
  /// not count.
  public let isShadowed: Bool

  /// The account of a login name; nil if there is no such account.
  public init?(name: String) {
    self.init { entry, buffer, size, result in getpwnam_r(name, entry, buffer, size, result) }
  }

  /// The account of a number; nil if there is no such account.
  public init?(uid: uid_t) {
    self.init { entry, buffer, size, result in getpwuid_r(uid, entry, buffer, size, result) }
  }

  private typealias Lookup = (
    UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int, UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
  ) -> Int32

  private init?(_ lookup: Lookup) {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16384)
    let account: Account? = buffer.withUnsafeMutableBufferPointer { memory in
      guard let start = memory.baseAddress, lookup(&entry, start, memory.count, &found) == 0, found != nil,
        let name = entry.pw_name, let home = entry.pw_dir, let password = entry.pw_passwd
      else { return nil }
      return Account(
        uid: entry.pw_uid, gid: entry.pw_gid, name: String(cString: name), home: String(cString: home),
        isShadowed: strcmp(password, "x") == 0)
    }
    guard let account else { return nil }
    self = account
  }

  private init(uid: uid_t, gid: gid_t, name: String, home: String, isShadowed: Bool) {
    self.uid = uid
    self.gid = gid
    self.name = name
    self.home = home
    self.isShadowed = isShadowed
  }

  /// The lowest number of a person's account: UID_MIN of `login.defs`, or 1000 if the file does not say.
  public static var firstPersonUID: uid_t {
    guard let file = try? FileDescriptor.open("/etc/login.defs", flags: O_RDONLY | O_NONBLOCK),
      let bytes = try? file.readAll(limit: 65536)
    else { return 1000 }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
      if words.count >= 2, words[0] == "UID_MIN", let value = uid_t(words[1]) { return value }
    }
    return 1000
  }
}
