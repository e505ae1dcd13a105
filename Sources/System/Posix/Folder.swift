import CLatchkeyLinux
import Glibc

/// A folder that belongs to one user, held open so that its path cannot be changed under us.
///
/// Files in it are opened without following links and without waiting, and only regular files of the same owner are accepted.
public struct Folder: ~Copyable {
  private let descriptor: FileDescriptor
  private let owner: uid_t

  /// Opens the folder at `path`, which must be owned by `owner`.
  ///
  /// - Throws: ``PosixError``: `ENOENT` if the folder is missing, `EPERM` if it belongs to somebody else.
  public init(path: String, owner: uid_t) throws(PosixError) {
    let descriptor = try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
    guard try descriptor.status().st_uid == owner else { throw PosixError("folder", code: EPERM) }
    self.descriptor = descriptor
    self.owner = owner
  }

  /// Opens the folder `path` below the folder at `top`, without following a link and on the same file system. So no call waits for
  /// a mounted disk or server that no longer answers.
  ///
  /// - Throws: ``PosixError``: `ENOENT`, `ELOOP` for a link, `EXDEV` for another file system, `EPERM` for a folder of another
  ///   owner.
  public static func local(_ path: String, below top: String, owner: uid_t) throws(PosixError) -> Folder {
    let top = try Folder(path: top, owner: owner)
    let number = top.number
    let descriptor = FileDescriptor(
      owning: try retrying("open") { linux_open_local(number, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    guard try descriptor.status().st_uid == owner else { throw PosixError("folder", code: EPERM) }
    return Folder(descriptor: descriptor, owner: owner)
  }

  /// The folder that is at a path now. A mount over it, or the end of a mount, puts another folder there.
  public struct Identity: Equatable, Sendable {
    private let device: dev_t
    private let number: ino_t

    /// The identity of a folder; nil if there is no folder.
    public init?(path: String) {
      var file = stat()
      guard stat(path, &file) == 0 else { return nil }
      (device, number) = (file.st_dev, file.st_ino)
    }
  }

  private init(descriptor: consuming FileDescriptor, owner: uid_t) {
    self.descriptor = descriptor
    self.owner = owner
  }

  /// Opens the folder `names` below `path`, and makes missing folders with mode 0700. `path` must exist and belong to `owner`.
  /// The rest of the way may be links, as people move their data folders.
  public static func create(
    _ names: [String], below path: String, owner: uid_t
  ) throws(PosixError) -> Folder {
    var folder = try Folder(path: path, owner: owner)
    for name in names {
      let parent = folder.descriptor.number
      do {
        _ = try retrying("mkdir") { mkdirat(parent, name, 0o700) }
        try folder.descriptor.synchronize()
      } catch {
        guard error.code == EEXIST else { throw error }
      }
      let next = try FileDescriptor.open(name, at: parent, flags: O_RDONLY | O_DIRECTORY)
      guard try next.status().st_uid == owner else { throw PosixError("folder", code: EPERM) }
      folder = Folder(descriptor: next, owner: owner)
    }
    return folder
  }

  /// The number of the open folder, for calls that take a number.
  public var number: Int32 { descriptor.number }

  /// Whether anything has that name.
  public borrowing func contains(_ name: String) -> Bool {
    faccessat(descriptor.number, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// The content of the file `name`, at most `limit` bytes.
  ///
  /// - Throws: ``PosixError``: `ENOENT`, `EFBIG` above the limit, `EPERM` for anything but the owner's regular file.
  public borrowing func read(_ name: String, limit: Int) throws(PosixError) -> [UInt8] {
    let file = try openOwned(name)
    return try file.readAll(limit: limit)
  }

  /// Reads the file `name` into the caller's memory, for a secret.
  ///
  /// - Returns: the number of bytes in the file, at most the buffer's size.
  public borrowing func read(_ name: String, into memory: consuming MutableRawSpan) throws(PosixError) -> Int {
    let file = try openOwned(name)
    return try file.read(into: memory)
  }

  /// Reads the file `name` into the caller's array. Not for secrets.
  ///
  /// - Returns: how many bytes the file had, at most the array's size.
  public borrowing func read(_ name: String, into bytes: inout [UInt8]) throws(PosixError) -> Int {
    let file = try openOwned(name)
    return try file.read(into: &bytes)
  }

  private borrowing func openOwned(_ name: String) throws(PosixError) -> FileDescriptor {
    let file = try FileDescriptor.open(
      name, at: descriptor.number, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try file.status()
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == owner else { throw PosixError("open", code: EPERM) }
    return file
  }

  /// Replaces the file `name` by `bytes`. A temporary file is synchronised and renamed over `name`, then the folder is
  /// synchronised. At every moment the file has the whole old or the whole new content.
  ///
  /// - Parameter replacing: if false, an existing file stays as it is, and `EEXIST` is thrown.
  public borrowing func write(_ name: String, _ bytes: RawSpan, replacing: Bool) throws(PosixError) {
    let temporary = name + ".new"
    let folder = descriptor.number
    // A process that was killed left this file. Every writer holds the lock, so nobody is using it.
    unlinkat(folder, temporary, 0)
    do {
      let file = try FileDescriptor.open(
        temporary, at: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try file.writeAll(bytes)
      try file.synchronize()
      _ = try retrying("rename") {
        replacing
          ? renameat(folder, temporary, folder, name)
          : renameat2(folder, temporary, folder, name, 1 /* RENAME_NOREPLACE */)
      }
    } catch {
      unlinkat(folder, temporary, 0)
      throw error
    }
    try descriptor.synchronize()
  }

  /// Renames the file `name` to `other`, and waits until the change is on the disk. No file may have the new name yet.
  ///
  /// - Throws: ``PosixError``: `EEXIST`.
  public borrowing func rename(_ name: String, to other: String) throws(PosixError) {
    try move(name, to: other)
    try descriptor.synchronize()
  }

  /// Renames a file without waiting for the disk: for many files, before one ``synchronize()``.
  public borrowing func move(_ name: String, to other: String) throws(PosixError) {
    let folder = descriptor.number
    _ = try retrying("rename") { renameat2(folder, name, folder, other, 1 /* RENAME_NOREPLACE */) }
  }

  /// Replaces the file `name` by the file `other`, and waits until that is on the disk.
  public borrowing func replace(_ name: String, by other: String) throws(PosixError) {
    let folder = descriptor.number
    _ = try retrying("rename") { renameat(folder, other, folder, name) }
    try descriptor.synchronize()
  }

  /// Removes the file `name`, if it exists.
  public borrowing func remove(_ name: String) {
    unlinkat(descriptor.number, name, 0)
  }

  /// Takes the exclusive lock of the file `name`, making the file if it is missing.
  ///
  /// - Parameter deadline: the time to wait, in milliseconds, before `EWOULDBLOCK` is thrown.
  /// - Returns: the lock, which ends with the value.
  /// - Throws: ``PosixError``: `EWOULDBLOCK`, `EPERM` for anything but the owner's regular file.
  public borrowing func lock(_ name: String, deadline: Int) throws(PosixError) -> FileDescriptor {
    let file = try FileDescriptor.open(
      name, at: descriptor.number, flags: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
    let status = try file.status()
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == owner else { throw PosixError("open", code: EPERM) }
    var waited = 0
    while flock(file.number, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw PosixError("flock") }
      guard waited < deadline else { throw PosixError("flock", code: EWOULDBLOCK) }
      usleep(10_000)
      waited += 10
    }
    return file
  }
}
