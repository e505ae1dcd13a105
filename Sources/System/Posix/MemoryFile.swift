import CLatchkeyLinux
import Glibc

/// A file in memory that has no name in any folder: for other programs that take only files. It is overwritten at its end.
public struct MemoryFile: ~Copyable {
  private let file: FileDescriptor

  /// An empty file.
  public init() throws(PosixError) {
    file = FileDescriptor(owning: try retrying("memfd_create") { linux_memory_file("latchkey") })
  }

  /// The number, lent.
  public var number: Int32 { file.number }

  /// Writes all of `bytes`, and moves the position back to the beginning.
  public borrowing func write(_ bytes: RawSpan) throws(PosixError) {
    try file.writeAll(bytes)
    _ = lseek(file.number, 0, SEEK_SET)
  }

  /// The size of the file, in bytes.
  public borrowing func count() throws(PosixError) -> Int { Int(try file.status().st_size) }

  /// Fills the caller's memory from the beginning.
  ///
  /// - Returns: the number of bytes that were read.
  public borrowing func read(into memory: consuming MutableRawSpan) throws(PosixError) -> Int {
    _ = lseek(file.number, 0, SEEK_SET)
    return try file.read(into: memory)
  }

  deinit {
    let zeros = [UInt8](repeating: 0, count: 4096)
    let size = (try? Int(file.status().st_size)) ?? 0
    for place in stride(from: 0, to: size, by: zeros.count) { _ = pwrite(file.number, zeros, zeros.count, place) }
  }
}
