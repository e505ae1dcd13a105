import Glibc
import LatchkeyPosix

/// The files of one person, or root's files that count for all users. Each is changed whole or not at all: a kill or a power
/// cut leaves the old or the new state.
struct OwnedFiles {
  /// The prefix of every path: empty, or the folder of a system that a test made.
  let top: String
  let owner: uid_t
  /// Whether the files count for all users. Only the owner may be able to change the folders above such files.
  var areForAll = false
  /// Called before each change of the disk. A test ends the program there, like a kill.
  var beforeChange: () throws(PosixError) -> Void = {}

  /// Settings files are small. A larger file is no settings file.
  static let sizeLimit = 1 << 20

  /// The state of a path.
  ///
  /// - Throws: ``PosixError``: `EPERM` for a file of somebody else, `ENOTSUP` for a folder, a device and the like, `EFBIG`
  ///   above the limit.
  func state(_ path: String, limit: Int = sizeLimit) throws(PosixError) -> FileState {
    guard stranger(onTheWayTo: path) == nil else { throw PosixError("open", code: EPERM) }
    var status = stat()
    guard lstat(top + path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return .absent }
      throw PosixError("stat")
    }
    guard status.st_uid == owner else { throw PosixError("open", code: EPERM) }
    switch status.st_mode & S_IFMT {
    case S_IFLNK:
      var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(top + path, &buffer, buffer.count)
      guard count >= 0 else { throw PosixError("readlink") }
      return .link(String(decoding: buffer.prefix(count), as: UTF8.self))
    case S_IFREG:
      let file = try FileDescriptor.open(top + path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      return .file(bytes: try file.readAll(limit: limit), mode: UInt32(status.st_mode) & 0o7777)
    default: throw PosixError("open", code: ENOTSUP)
    }
  }

  /// The first folder above a path that somebody other than the owner could replace, or that is a link; nil if there is none.
  /// Otherwise a file that root writes there could go to any place. The folders of a person are not checked, because the person may
  /// change them.
  func stranger(onTheWayTo path: String) -> String? {
    guard areForAll else { return nil }
    var folders = [Self.folder(path)]
    while let last = folders.last, last != "/" { folders.append(Self.folder(last)) }
    for folder in folders.reversed() {
      var status = stat()
      guard lstat(folder == "/" && !top.isEmpty ? top : top + folder, &status) == 0 else { return nil }
      // With an access control list, the group's bits are the most that the list allows to anybody, so this check covers the list.
      let isOpen = status.st_mode & 0o022 != 0
      guard status.st_uid == owner, status.st_mode & S_IFMT == S_IFDIR, !isOpen else { return folder }
    }
    return nil
  }

  /// Locks the folder itself against a second run, so that no lock file is left behind. The lock ends with the returned descriptor.
  ///
  /// - Returns: nil if the file system has no locks of folders, as on a network.
  /// - Throws: ``PosixError`` with `EWOULDBLOCK` if another process has the lock.
  func lock(folder: String) throws(PosixError) -> FileDescriptor? {
    let file = try FileDescriptor.open(top + folder, flags: O_RDONLY | O_DIRECTORY)
    guard try file.status().st_uid == owner else { throw PosixError("lock", code: EPERM) }
    if flock(file.number, LOCK_EX | LOCK_NB) == 0 { return file }
    if errno == EWOULDBLOCK { throw PosixError("lock", code: EWOULDBLOCK) }
    return nil
  }

  /// Brings a path into a state. The path's folder must exist, unless the state says that the path is missing.
  func put(_ state: FileState, at path: String) throws(PosixError) {
    let temporary = Self.temporary(path)
    if case .absent = state {
      guard access(top + Self.folder(path), F_OK) == 0 else { return }
      try beforeChange()
      guard unlink(top + path) == 0 || errno == ENOENT else { throw PosixError("unlink") }
      return try synchronize(Self.folder(path))
    }
    try remove(temporary)
    try beforeChange()
    switch state {
    case .absent: return
    case .link(let target):
      guard symlink(target, top + temporary) == 0 else { throw PosixError("symlink") }
    case .file(let bytes, let mode):
      let file = try FileDescriptor.open(
        top + temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try file.writeAll(bytes.span.bytes)
      try keepGroup(of: path, in: file, mode: mode)
      guard fchmod(file.number, mode) == 0 else { throw PosixError("chmod") }
      try file.synchronize()
    }
    try beforeChange()
    guard rename(top + temporary, top + path) == 0 else { throw PosixError("rename") }
    try synchronize(Self.folder(path))
  }

  /// Gives a file the group of the replaced file. A person can only set groups to which they belong. Another group is dropped if
  /// the file's mode gives it no more rights than everybody has.
  private func keepGroup(of path: String, in file: borrowing FileDescriptor, mode: UInt32) throws(PosixError) {
    var former = stat()
    guard lstat(top + path, &former) == 0, former.st_mode & S_IFMT == S_IFREG,
      try file.status().st_gid != former.st_gid, fchown(file.number, uid_t.max, former.st_gid) != 0
    else { return }
    let ofGroup = mode >> 3 & 0o7
    guard errno == EPERM, ofGroup & ~mode == 0 else { throw PosixError("chown") }
  }

  /// Removes the leftover of a killed change of this path.
  func removeLeftover(of path: String) throws(PosixError) { try remove(Self.temporary(path)) }

  private func remove(_ path: String) throws(PosixError) {
    var status = stat()
    guard lstat(top + path, &status) == 0 else { return }
    try beforeChange()
    guard unlink(top + path) == 0 || errno == ENOENT else { throw PosixError("unlink") }
  }

  /// The folders above a path that do not exist, outermost first.
  func missingFolders(above path: String) -> [String] {
    var missing: [String] = []
    var folder = Self.folder(path)
    while folder.count > 1, access(top + folder, F_OK) != 0 {
      missing.insert(folder, at: 0)
      folder = Self.folder(folder)
    }
    return missing
  }

  /// Makes a folder: below a home one that only its owner can read, as programs do; for all users one that everybody can read.
  func makeFolder(_ path: String) throws(PosixError) {
    try beforeChange()
    let mask = umask(areForAll ? 0o022 : 0o077)
    defer { umask(mask) }
    guard mkdir(top + path, 0o777) == 0 || errno == EEXIST else { throw PosixError("mkdir") }
    try synchronize(Self.folder(path))
  }

  /// Removes an empty folder; any other stays.
  func removeEmptyFolder(_ path: String) throws(PosixError) {
    try beforeChange()
    guard rmdir(top + path) == 0 || [ENOENT, ENOTEMPTY, EEXIST, EACCES, EBUSY].contains(errno) else {
      throw PosixError("rmdir")
    }
  }

  /// Why a path cannot be changed; nil if the path can be changed.
  func refusal(of path: String) -> PosixError? {
    var folder = Self.folder(path)
    while folder.count > 1, access(top + folder, F_OK) != 0, errno == ENOENT { folder = Self.folder(folder) }
    var status = stat()
    guard stat(top + folder, &status) == 0 else { return PosixError("stat") }
    guard status.st_mode & S_IFMT == S_IFDIR else { return PosixError("open", code: ENOTDIR) }
    // Root could write anywhere, but a folder of another owner is not the person's.
    guard status.st_uid == owner else { return PosixError("open", code: EPERM) }
    return access(top + folder, W_OK | X_OK) == 0 ? nil : PosixError("write")
  }

  private func synchronize(_ folder: String) throws(PosixError) {
    try FileDescriptor.open(top + folder, flags: O_RDONLY | O_DIRECTORY).synchronize()
  }

  /// The folder that contains a path.
  static func folder(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  private static func temporary(_ path: String) -> String {
    "\(folder(path))/.\(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]).latchkey-new"
  }
}
