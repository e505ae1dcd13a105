import Glibc
import LatchkeyPosix
import LatchkeySodium

/// Whether an account has a login password, as far as this program can know it.
enum LoginPassword {
  /// The account has no password: its field in the local shadow file is exactly empty.
  case none
  /// The field is not empty, even if no password fits it.
  case some
  /// The state of the password is unknown: the account is not in that file, its password is elsewhere, or only root could read the
  /// file.
  case unknown

  static let shadow = "/etc/shadow"
  private static let chunk = 4096

  /// Searches the shadow file (shadow(5)) for the first line of the account.
  ///
  /// No library reads the file, because it would keep the lines, even other users', in memory that is not erased. The name service
  /// would also ask other sources of accounts.
  init(of account: Account, in path: String) {
    self = .unknown
    let name = Array(account.name.utf8)
    guard account.isShadowed, !name.isEmpty, !name.contains(UInt8(ascii: ":")), !name.contains(UInt8(ascii: "\n")),
      let file = try? FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
      let kind = try? file.status().st_mode & S_IFMT, kind == S_IFREG,
      var content = try? SecureBytes(count: LoginPassword.chunk)
    else { return }
    var place = Place.name(0)
    while let count = try? file.read(into: content.mutableBytes), count > 0 {
      for offset in 0..<count {
        let byte = content.bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        switch place {
        case .field:
          // A line that ends here has no password field at all.
          self = byte == UInt8(ascii: ":") ? .none : byte == UInt8(ascii: "\n") ? .unknown : .some
          return
        case .name(let matched):
          if matched == name.count, byte == UInt8(ascii: ":") {
            place = .field
          } else if matched < name.count, byte == name[matched] {
            place = .name(matched + 1)
          } else {
            place = byte == UInt8(ascii: "\n") ? .name(0) : .rest
          }
        case .rest: if byte == UInt8(ascii: "\n") { place = .name(0) }
        }
      }
    }
  }

  /// The reader's place in a line.
  private enum Place {
    /// In the name, of which this many bytes matched.
    case name(Int)
    /// The place is the first byte of the right line's password field.
    case field
    /// The place is in the rest of a line.
    case rest
  }
}
