import Glibc

extension Folder {
  /// Copies the file at `path`, which must be a regular file of the folder's owner, to the new file `name`. The copy is not
  /// synchronised.
  public borrowing func copy(_ path: String, to name: String) throws(PosixError) {
    let source = try FileDescriptor.open(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try source.status()
    guard status.st_mode & S_IFMT == S_IFREG, try owns(status) else { throw PosixError("open", code: EPERM) }
    let target = try FileDescriptor.open(
      name, at: number, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = try source.read(into: &piece)
      if count == 0 { return }
      try target.writeAll(piece.span.bytes.extracting(0..<count))
    }
  }

  /// Copies as ``copy(_:to:)`` does, with zeros for each block that the disk cannot read. A disk may try for seconds before it
  /// reports a failure. So after `time`, each failure also skips some of the next blocks, and the copy has zeros there.
  ///
  /// - Parameters:
  ///   - time: the time for which every block is tried, counted in milliseconds of failed reads.
  ///   - read: reads as `pread` does.
  /// - Returns: whether the whole file could be read.
  public borrowing func copyReadable(
    _ path: String, to name: String, failingFor time: Int = 2000,
    read: (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int = pread
  ) throws(PosixError) -> Bool {
    let source = try FileDescriptor.open(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try source.status()
    guard status.st_mode & S_IFMT == S_IFREG, try owns(status) else { throw PosixError("open", code: EPERM) }
    let target = try FileDescriptor.open(
      name, at: number, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    var block = [UInt8](repeating: 0, count: 4096)
    var (position, isWhole, failing) = (0, true, 0)
    while position < Int(status.st_size) {
      let wanted = min(block.count, Int(status.st_size) - position)
      let file = source.number
      let start = Process.now
      var (count, end) = (0, position)
      do throws(PosixError) {
        count = try block.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
          try retrying("read") { read(file, buffer.baseAddress, wanted, off_t(position)) }
        }
        if count == 0 { break }
        end = position + count
      } catch {
        guard error.code == EIO else { throw error }
        isWhole = false
        failing += Process.now - start
        for index in block.indices { block[index] = 0 }
        end = min(position + (failing < time ? wanted : 1 << 20), Int(status.st_size))
      }
      while position < end {
        count = min(block.count, end - position)
        try target.writeAll(block.span.bytes.extracting(0..<count))
        position += count
      }
    }
    return isWhole
  }

  private borrowing func owns(_ status: stat) throws(PosixError) -> Bool {
    var own = stat()
    let folder = number
    _ = try retrying("stat") { fstat(folder, &own) }
    return own.st_uid == status.st_uid
  }

  /// Whether `name` is a regular file of the folder's owner, readable or not.
  public borrowing func hasOwnFile(_ name: String) -> Bool {
    var status = stat()
    let folder = number
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG else {
      return false
    }
    return (try? owns(status)) ?? false
  }

  /// Gives the file `name` one more name, unless it has that name already.
  public borrowing func link(_ name: String, to other: String) throws(PosixError) {
    let folder = number
    do throws(PosixError) { _ = try retrying("link") { linkat(folder, name, folder, other, 0) } } catch {
      guard error.code == EEXIST else { throw error }
    }
  }

  /// Whether two names belong to one file.
  public borrowing func areSame(_ name: String, _ other: String) -> Bool {
    var (one, two) = (stat(), stat())
    let folder = number
    guard fstatat(folder, name, &one, AT_SYMLINK_NOFOLLOW) == 0, fstatat(folder, other, &two, AT_SYMLINK_NOFOLLOW) == 0
    else { return false }
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino
  }

  /// Whether two names belong to one file, or to two regular files of the folder's owner with the same bytes.
  public borrowing func haveSameContent(_ name: String, _ other: String) -> Bool {
    if areSame(name, other) { return true }
    guard hasOwnFile(name), hasOwnFile(other) else { return false }
    return (try? equalBytes(name, other)) ?? false
  }

  private borrowing func equalBytes(_ name: String, _ other: String) throws(PosixError) -> Bool {
    let first = try FileDescriptor.open(name, at: number, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let second = try FileDescriptor.open(other, at: number, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    guard try first.status().st_size == second.status().st_size else { return false }
    var pieces = ([UInt8](repeating: 0, count: 1 << 18), [UInt8](repeating: 0, count: 1 << 18))
    while true {
      let count = try first.read(into: &pieces.0)
      guard try second.read(into: &pieces.1) == count, pieces.0[..<count] == pieces.1[..<count] else { return false }
      if count == 0 { return true }
    }
  }
}
