import CLatchkeyLinux
import Glibc
import LatchkeyPosix

/// The folder in `/proc` that describes one process. While this value lives, every read is about that process or fails, even
/// if another process has its id by then.
///
/// Nothing here waits, even if the process changed its own root folder.
struct ProcessFolder: ~Copyable {
  private let folder: FileDescriptor

  /// The folder in which the kernel shows processes.
  static let proc = "/proc"

  /// - Parameters:
  ///   - proc: another folder instead of `/proc`, for tests.
  init?(pid: Int32, in proc: String = ProcessFolder.proc) {
    guard let folder = try? FileDescriptor.open("\(proc)/\(pid)", flags: O_RDONLY | O_DIRECTORY) else { return nil }
    self.folder = folder
  }

  /// The contents of a file that the kernel writes; nil if it is missing or longer than `limit`.
  borrowing func read(_ name: String, limit: Int) -> [UInt8]? {
    guard let file = try? FileDescriptor.open(name, at: folder.number, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    else { return nil }
    return try? file.readAll(limit: limit)
  }

  /// The target of a link.
  borrowing func link(_ name: String) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlinkat(folder.number, name, &buffer, buffer.count)
    return count > 0 ? Array(buffer.prefix(count)) : nil
  }

  /// A file at the top of the process's own root folder. Links are not followed, because they would lead into our own root
  /// folder.
  borrowing func fileInRoot(_ name: String, limit: Int) -> [UInt8]? {
    let path = Int32(bitPattern: UInt32(linux_open_path))
    guard let root = try? FileDescriptor.open("root", at: folder.number, flags: path | O_DIRECTORY) else { return nil }
    // The file is read only from the kernel's cache, because the process may have mounted its own file system there, which may
    // never answer. A sandbox's file is in memory anyway.
    let number = linux_open_cached(root.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    guard let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit else {
      return nil
    }
    return try? file.readAll(limit: limit)
  }
}
