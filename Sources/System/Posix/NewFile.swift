import CLatchkeyLinux
import Glibc

/// A file that appears whole under its name, or not at all: written under another name beside it, for its owner only, and
/// renamed when all of it is on the disk.
public final class NewFile {
  private let folder: FileDescriptor
  private let file: FileDescriptor
  private let name: String
  private let temporary: String
  private let replacing: Bool
  private var isTemporary = true

  /// Begins the file `name` in the folder at `path`. What an earlier one that was killed left behind is removed.
  ///
  /// - Throws: ``PosixError``: `EISDIR` for a folder of that name; `ENOTSUP` for a device, a pipe or a socket, which is
  ///   never replaced, nor is a link to one; `EEXIST` where something else of that name is there and is not to be replaced.
  public init(_ name: String, in path: String, replacing: Bool) throws(PosixError) {
    let folder = try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
    try NewFile.check(name, in: folder.number, replacing: replacing)
    let temporary = ".\(name).latchkey-new"
    unlinkat(folder.number, temporary, 0)
    file = try FileDescriptor.open(
      temporary, at: folder.number, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    self.folder = folder
    (self.name, self.temporary, self.replacing) = (name, temporary, replacing)
  }

  deinit { if isTemporary, isOurs { unlinkat(folder.number, temporary, 0) } }

  /// Whether the other name is this file's still: somebody who writes the same file at the same time took it over.
  private var isOurs: Bool {
    var named = stat()
    guard let own = try? file.status(), fstatat(folder.number, temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 else {
      return false
    }
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino
  }

  /// Throws what a beginning would throw because of what is at `path`.
  public static func check(_ path: String, replacing: Bool) throws(PosixError) {
    try check(path, in: AT_FDCWD, replacing: replacing)
  }

  private static func check(_ name: String, in folder: Int32, replacing: Bool) throws(PosixError) {
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw PosixError("open", code: EISDIR) }
    var target = status
    if fstatat(folder, name, &target, 0) == 0 { status = target }
    guard [S_IFREG, S_IFLNK, S_IFDIR].contains(status.st_mode & S_IFMT) else {
      throw PosixError("open", code: ENOTSUP)
    }
    guard replacing else { throw PosixError("open", code: EEXIST) }
  }

  /// Adds to its end.
  public func append(_ bytes: [UInt8]) throws(PosixError) { try append(bytes.span.bytes) }

  /// Adds bytes that may be lent from memory for secrets.
  public func append(_ bytes: RawSpan) throws(PosixError) { try file.writeAll(bytes) }

  /// Gives it its name, when all of it is on the disk.
  ///
  /// - Throws: ``PosixError``: `EBUSY` where somebody else writes the same file.
  public func finish() throws(PosixError) {
    try file.synchronize()
    guard isOurs else { throw PosixError("rename", code: EBUSY) }
    try rename()
    isTemporary = false
    try folder.synchronize()
  }

  private func rename() throws(PosixError) {
    let number = folder.number
    if !replacing {
      do throws(PosixError) {
        _ = try retrying("rename") { renameat2(number, temporary, number, name, 1 /* RENAME_NOREPLACE */) }
        return
      } catch {
        // File systems of removable disks do not know how.
        guard error.code == EINVAL || error.code == ENOSYS else { throw error }
      }
      try NewFile.check(name, in: number, replacing: false)
    }
    _ = try retrying("rename") { renameat(number, temporary, number, name) }
  }
}
