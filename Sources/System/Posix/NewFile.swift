import CLatchkeyLinux
import Glibc

/// A file that appears whole under its name, or not at all. It has no name while it is written, so that nothing of it stays when
/// the process is killed. On a file system without such files, it has a temporary name instead. The file is for its owner only.
public final class NewFile {
  private let folder: FileDescriptor
  private let file: FileDescriptor
  private let name: String
  private let temporary: String
  private let replacing: Bool
  /// Whether the file has its temporary name.
  private var isTemporary: Bool
  /// The path by which the file's process, and no other, can name the file.
  private var ownPath: String { Self.ownPath(of: file) }

  /// Begins the file `name` in the folder at `path`. Leftovers of an earlier process that was killed are removed.
  ///
  /// - Throws: ``PosixError``: `EISDIR` for a folder of that name; `ENOTSUP` for a device, a pipe or a socket, which is never
  ///   replaced (nor a link to one); `EEXIST` if another file has that name and must not be replaced.
  public convenience init(_ name: String, in path: String, replacing: Bool) throws(PosixError) {
    try self.init(name, in: path, replacing: replacing, isNamed: false)
  }

  /// - Parameter isNamed: whether the file has a name while it is written, as if the file system required one.
  init(_ name: String, in path: String, replacing: Bool, isNamed: Bool) throws(PosixError) {
    let folder = try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
    try NewFile.check(name, in: folder.number, replacing: replacing)
    let temporary = ".\(name).latchkey-new"
    unlinkat(folder.number, temporary, 0)
    if !isNamed, let unnamed = Self.unnamed(in: folder.number) {
      file = unnamed
      isTemporary = false
    } else {
      file = try FileDescriptor.open(
        temporary, at: folder.number, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      isTemporary = true
    }
    self.folder = folder
    (self.name, self.temporary, self.replacing) = (name, temporary, replacing)
  }

  deinit { if isTemporary, isOurs { unlinkat(folder.number, temporary, 0) } }

  /// A file without a name; nil if the file system has no such files, or could not give it a name later.
  private static func unnamed(in folder: Int32) -> FileDescriptor? {
    let number = linux_open_unnamed(folder, 0o600)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    return access(ownPath(of: file), F_OK) == 0 ? consume file : nil
  }

  private static func ownPath(of file: borrowing FileDescriptor) -> String { "/proc/self/fd/\(file.number)" }

  /// Whether the temporary name still belongs to this file. Another writer of the same file may have taken that name over.
  private var isOurs: Bool {
    var named = stat()
    guard let own = try? file.status(), fstatat(folder.number, temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 else {
      return false
    }
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino
  }

  /// Throws the errors that the present file of this name, or the folder, would cause when a new file begins.
  public static func check(_ name: String, in path: String, replacing: Bool) throws(PosixError) {
    let folder = try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
    try check(name, in: folder.number, replacing: replacing)
    guard faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS) == 0 else { throw PosixError("open") }
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

  /// Adds bytes at the end.
  public func append(_ bytes: [UInt8]) throws(PosixError) { try append(bytes.span.bytes) }

  /// Adds bytes that may be lent from memory for secrets.
  public func append(_ bytes: RawSpan) throws(PosixError) { try file.writeAll(bytes) }

  /// Gives the file its name, after the whole file is on the disk.
  ///
  /// - Throws: ``PosixError``: `EBUSY` if somebody else writes the same file.
  public func finish() throws(PosixError) {
    try file.synchronize()
    let isFinal = isTemporary ? false : try link()
    if !isFinal {
      guard isOurs else { throw PosixError("rename", code: EBUSY) }
      try rename()
      isTemporary = false
    }
    try folder.synchronize()
  }

  /// Gives a file without a name its final name. A file that replaces another file gets the temporary name first, because a link
  /// replaces nothing.
  ///
  /// - Returns: whether the file has the final name.
  private func link() throws(PosixError) -> Bool {
    do throws(PosixError) {
      try link(name)
      return true
    } catch { guard replacing, error.code == EEXIST else { throw error } }
    unlinkat(folder.number, temporary, 0)
    do throws(PosixError) { try link(temporary) } catch {
      throw error.code == EEXIST ? PosixError("rename", code: EBUSY) : error
    }
    isTemporary = true
    return false
  }

  private func link(_ name: String) throws(PosixError) {
    let (path, number) = (ownPath, folder.number)
    _ = try retrying("rename") { linkat(AT_FDCWD, path, number, name, AT_SYMLINK_FOLLOW) }
  }

  private func rename() throws(PosixError) {
    let number = folder.number
    if !replacing {
      do throws(PosixError) {
        _ = try retrying("rename") { renameat2(number, temporary, number, name, 1 /* RENAME_NOREPLACE */) }
        return
      } catch {
        // File systems of removable disks cannot link.
        guard error.code == EINVAL || error.code == ENOSYS else { throw error }
      }
      try NewFile.check(name, in: number, replacing: false)
    }
    _ = try retrying("rename") { renameat(number, temporary, number, name) }
  }
}
