import Glibc

/// Files whose content is to be gone: overwritten where they lie, before their name goes. On disks and file systems that
/// write elsewhere (SSDs, snapshots, copy on write) the old blocks may stay all the same.
extension Folder {
  private static let suffix = ".erased"

  /// Takes the file `name` away for good: renamed, overwritten, removed, each of which is on the disk before the next.
  /// Where there is none, nothing happens.
  ///
  /// After an interruption either `name` is there as it was, or ``finishErasing(_:)`` does the rest.
  public borrowing func erase(_ name: String) throws(PosixError) {
    try finishErasing(name)
    let folder = number
    do { _ = try retrying("rename") { renameat(folder, name, folder, name + Folder.suffix) } } catch {
      guard error.code == ENOENT else { throw error }
      return
    }
    try synchronize()
    try finishErasing(name)
  }

  /// Keeps the present file `name` under another name, for ``finishErasing(_:)`` to erase once something else has its
  /// place.
  public borrowing func keepForErasing(_ name: String) throws(PosixError) {
    try finishErasing(name)
    let folder = number
    _ = try retrying("link") { linkat(folder, name, folder, name + Folder.suffix, 0) }
    try synchronize()
  }

  /// Erases what an earlier ``erase(_:)`` or ``keepForErasing(_:)`` of `name` left. What is still there under its own name
  /// stays as it is.
  public borrowing func finishErasing(_ name: String) throws(PosixError) {
    let remnant = name + Folder.suffix
    guard contains(remnant) else { return }
    do {
      let file = try FileDescriptor.open(remnant, at: number, flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      if status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 {
        let zeros = [UInt8](repeating: 0, count: Int(min(status.st_size, 65536)))
        var left = Int(status.st_size)
        while left > 0 {
          let count = min(left, zeros.count)
          try file.writeAll(zeros.span.bytes.extracting(0..<count))
          left -= count
        }
        try file.synchronize()
      }
    }
    remove(remnant)
    try synchronize()
  }

  /// Waits until names that were given or taken are on the disk.
  public borrowing func synchronize() throws(PosixError) {
    let folder = number
    _ = try retrying("fsync") { fsync(folder) }
  }
}
