import Glibc

/// Pipes whose content is to be gone once it was read. The kernel frees a page of a pipe as it is. But it keeps the last one of
/// each pipe for what is written next, and so zeros overwrite what was in it.
extension FileDescriptor {
  // <fcntl.h> has them for _GNU_SOURCE alone.
  private static let (setPipeSize, getPipeSize): (Int32, Int32) = (1031, 1032)
  private static var pageSize: Int { sysconf(Int32(_SC_PAGESIZE)) }

  /// A pipe with room for one page: it never has another one. Nothing waits at this, its reading end.
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

  /// Overwrites what was read from the pipe of this reading end, which is empty now. Anything but a pipe stays as it is.
  public borrowing func overwritePipe() {
    let size = Int(fcntl(number, Self.getPipeSize))
    // The other end may be another program's, or closed. Two pages, as newer kernels keep two.
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
      // Another writer may have come between, and then this has what it wrote.
      if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
  }
}
