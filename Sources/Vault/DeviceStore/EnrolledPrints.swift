import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The prints of a user's enrolled fingers, as fprintd keeps them: a folder of the user's name, of readers, of fingers.
///
/// fprintd does not tell which print belongs to a name. If a finger is deleted and enrolled again, fprintd reports the same name,
/// and only the files differ.
public enum EnrolledPrints {
  /// fprintd's folder.
  public static let folder = "/var/lib/fprint"

  /// A user has ten fingers, and few readers.
  private static let fileLimit = 256
  /// The most bytes of all prints together.
  private static let sizeLimit = 16 << 20
  /// User, driver and reader: fingers are in the third.
  private static let depthLimit = 4

  /// A hash of all prints of a user; nil if there are no prints, if they cannot be read, or if others may write them.
  ///
  /// - Parameter owner: the user that fprintd runs as: root.
  public static func hash(of user: String, in folder: String = folder, owner: uid_t = 0) -> [UInt8]? {
    guard !user.isEmpty, !user.contains("/"), user != ".", user != "..", let hash = try? KeyedHash() else { return nil }
    var walk = Walk(hash: hash, owner: owner)
    do throws(PosixError) {
      // The user's folder comes first, because a link in its place would lead elsewhere.
      let all = try FileDescriptor.open(folder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      guard try all.status().st_uid == owner else { return nil }
      try walk.enter(user, at: all.number, depth: 1)
    } catch { return nil }
    guard walk.files > 0 else { return nil }
    return walk.finish()
  }

  private struct Walk: ~Copyable {
    private var hash: KeyedHash
    private let owner: uid_t
    private var size = 0
    private(set) var files = 0

    init(hash: consuming KeyedHash, owner: uid_t) {
      self.hash = hash
      self.owner = owner
    }

    consuming func finish() -> [UInt8] { hash.tag() }

    /// Adds a file or a folder to the hash. The depth and name of each come before its content, so that different trees have
    /// different hashes.
    mutating func enter(_ name: String, at parent: Int32, depth: Int) throws(PosixError) {
      let file = try FileDescriptor.open(name, at: parent, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      guard status.st_uid == owner, status.st_mode & 0o022 == 0 else { throw PosixError("print", code: EPERM) }
      hash.update([UInt8(depth)].span.bytes)
      hash.update(Array(name.utf8).span.bytes)
      switch status.st_mode & S_IFMT {
      case S_IFREG:
        files += 1
        guard files <= fileLimit else { throw PosixError("print", code: EFBIG) }
        let content = try file.readAll(limit: sizeLimit - size)
        size += content.count
        hash.update(content.span.bytes)
      case S_IFDIR:
        guard depth < depthLimit else { throw PosixError("print", code: ELOOP) }
        let number = file.number
        for name in try FileDescriptor.open(".", at: number, flags: O_RDONLY | O_DIRECTORY).names().sorted() {
          try enter(name, at: number, depth: depth + 1)
        }
      default: throw PosixError("print", code: EPERM)
      }
    }
  }
}
