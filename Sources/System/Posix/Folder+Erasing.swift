import Glibc

/// Erases files whose content must not stay: they are overwritten in place before their name is removed. On disks and file systems
/// that write elsewhere (SSDs, snapshots, copy on write) the old blocks may still stay.
extension Folder {
  private static let suffix = ".erased"

  /// Removes the file `name` for good. It is renamed, overwritten and removed, and each step is on the disk before the next. A
  /// missing file is not an error.
  ///
  /// After an interruption either `name` exists unchanged, or ``finishErasing(_:)`` does the rest.
  ///
  /// - Parameter size: the number of bytes at the beginning that are overwritten.
  public borrowing func erase(_ name: String, first size: Int = .max) throws(PosixError) {
    try finishErasing(name, first: size)
    let folder = number
    do { _ = try retrying("rename") { renameat(folder, name, folder, name + Folder.suffix) } } catch {
      guard error.code == ENOENT else { throw error }
      return
    }
    try synchronize()
    try finishErasing(name, first: size)
  }

  /// Keeps the present file `name` under another name, so that ``finishErasing(_:)`` can erase it after another file has taken its
  /// place.
  public borrowing func keepForErasing(_ name: String) throws(PosixError) {
    try finishErasing(name)
    let folder = number
    _ = try retrying("link") { linkat(folder, name, folder, name + Folder.suffix, 0) }
    try synchronize()
  }

  /// Erases what an earlier ``erase(_:)`` or ``keepForErasing(_:)`` of `name` left. A file that still has its own name stays
  /// as it is.
  ///
  /// - Parameter size: the number of bytes at the beginning that are overwritten.
  public borrowing func finishErasing(_ name: String, first size: Int = .max) throws(PosixError) {
    let remnant = name + Folder.suffix
    guard contains(remnant) else { return }
    do {
      let file = try FileDescriptor.open(remnant, at: number, flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      if status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 {
        let zeros = [UInt8](repeating: 0, count: 65536)
        var place = 0
        while place < size, let next = try file.overwriteBlocks(from: place, with: zeros) { place = next }
        try file.synchronize()
      }
    }
    remove(remnant)
    try synchronize()
  }

  /// Removes existing files with these names, and waits until the removal is on the disk.
  public borrowing func remove(_ names: [String]) throws(PosixError) {
    let folder = number
    for name in names {
      do throws(PosixError) { _ = try retrying("unlink") { unlinkat(folder, name, 0) } } catch {
        guard error.code == ENOENT else { throw error }
      }
    }
    // A missing file may have been removed by a process that was killed before its wait.
    try synchronize()
  }

  /// Overwrites the file `name` if possible, and removes it.
  ///
  /// - Parameter size: the number of bytes at the beginning that are overwritten.
  public borrowing func discard(_ name: String, first size: Int = .max) {
    let own = name.hasSuffix(Folder.suffix) ? String(name.dropLast(Folder.suffix.count)) : name
    do throws(PosixError) { try erase(own, first: size) } catch {
      for one in [own, own + Folder.suffix] { remove(one) }
    }
  }

  /// Waits until new and removed names are on the disk.
  public borrowing func synchronize() throws(PosixError) {
    let folder = number
    _ = try retrying("fsync") { fsync(folder) }
  }
}

extension FileDescriptor {
  /// Overwrites some of the file's blocks on the disk. Parts without blocks, as in a sparse file, are left out.
  ///
  /// - Parameters:
  ///   - position: the position from which to overwrite.
  ///   - piece: the bytes to write; of a last piece, only the first are used.
  /// - Returns: the position at which to continue; nil at the end.
  public borrowing func overwriteBlocks(from position: Int, with piece: [UInt8]) throws(PosixError) -> Int? {
    let file = number
    do throws(PosixError) {
      let start = try retrying("seek") { lseek(file, off_t(position), 3 /* SEEK_DATA */) }
      let end = try retrying("seek") { lseek(file, start, 4 /* SEEK_HOLE */) }
      _ = try retrying("seek") { lseek(file, start, SEEK_SET) }
      let count = min(Int(end - start), piece.count)
      guard count > 0 else { return nil }
      try writeAll(piece.span.bytes.extracting(0..<count))
      return Int(start) + count
    } catch {
      // ENXIO: the place is behind the last block.
      guard error.code == ENXIO else { throw error }
      return nil
    }
  }
}
