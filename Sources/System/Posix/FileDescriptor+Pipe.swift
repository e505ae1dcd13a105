import Glibc

/// Pipes whose content must be erased after it was read. The kernel frees the pages of a pipe without erasing them. But it keeps
/// the last page of each pipe for the next write, so a write of zeros overwrites that page.
extension FileDescriptor {
  // <fcntl.h> defines these numbers only with _GNU_SOURCE.
  private static let (setPipeSize, getPipeSize): (Int32, Int32) = (1031, 1032)
  private static var pageSize: Int { sysconf(Int32(_SC_PAGESIZE)) }

  /// A pipe with room for one page, so it never has another page. Reading from this end never waits.
  ///
  /// - Parameter body: gets the writing end, which is closed when it returns.
  public static func pipeOfOnePage(
    _ body: (Int32) throws(PosixError) -> Void
  ) throws(PosixError) -> FileDescriptor {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw PosixError("pipe") }
    let reading = FileDescriptor(owning: ends[0])
    let writing = FileDescriptor(owning: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    guard fcntl(writing.number, setPipeSize, Int32(pageSize)) >= 0, fcntl(reading.number, F_SETFL, O_NONBLOCK) == 0
    else { throw PosixError("pipe") }
    try body(writing.number)
    return reading
  }

  /// Overwrites the bytes of this pipe, also unread bytes. Call this when no other process reads the pipe. Does nothing if the
  /// descriptor is not a pipe.
  public borrowing func erasePipe() {
    // Another program may still write.
    var left = Int(fcntl(number, Self.getPipeSize))
    guard left > 0 else { return }
    _ = fcntl(number, F_SETFL, O_NONBLOCK)
    var rest = [UInt8](repeating: 0, count: Self.pageSize)
    rest.withUnsafeMutableBytes { bytes in
      while left > 0 {
        let count = Glibc.read(number, bytes.baseAddress, bytes.count)
        guard count > 0 else { break }
        left -= count
      }
      if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
    overwritePipe()
  }

  /// Overwrites the bytes that were read from this pipe, which is empty now. Does nothing if the descriptor is not a pipe.
  public borrowing func overwritePipe() {
    let size = Int(fcntl(number, Self.getPipeSize))
    // The other end may belong to another program, or be closed. Two pages are written, because newer kernels keep two.
    guard size > 0, let writing = try? FileDescriptor.open("/proc/self/fd/\(number)", flags: O_WRONLY | O_NONBLOCK)
    else { return }
    var zeros = [UInt8](repeating: 0, count: min(size, 2 * Self.pageSize))
    let written = Glibc.write(writing.number, zeros, zeros.count)
    guard written > 0 else { return }
    zeros.withUnsafeMutableBytes { bytes in
      var left = written
      while left > 0 {
        let count = Glibc.read(number, bytes.baseAddress, left)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        left -= count
      }
      // If another writer came in between, this reads that writer's bytes.
      if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
  }
}
