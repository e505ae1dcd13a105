import CLatchkeyLinux
import Glibc

/// The owner of one open descriptor; closed when the value ends.
public struct FileDescriptor: ~Copyable {
  /// The number of the descriptor, for calls that take a number.
  public let number: Int32

  /// Takes over an open descriptor.
  public init(owning number: Int32) {
    self.number = number
  }

  deinit { close(number) }

  /// Gives the descriptor up without closing it.
  public consuming func release() -> Int32 {
    let number = self.number
    discard self
    return number
  }

  /// Opens `path` (relative to `folder`, if one is given), close-on-exec.
  public static func open(
    _ path: String, at folder: Int32 = AT_FDCWD, flags: Int32, mode: mode_t = 0
  ) throws(PosixError) -> FileDescriptor {
    FileDescriptor(owning: try retrying("open") { openat(folder, path, flags | O_CLOEXEC, mode) })
  }

  /// The kernel's facts about the open file.
  public borrowing func status() throws(PosixError) -> stat {
    var result = stat()
    let number = self.number
    _ = try retrying("stat") { fstat(number, &result) }
    return result
  }

  /// Up to `limit` bytes from the present position to the end. Not for secrets.
  ///
  /// - Throws: ``PosixError`` with `EFBIG` when there is more than `limit`.
  public borrowing func readAll(limit: Int) throws(PosixError) -> [UInt8] {
    // Limits are large and most files are small, so memory grows with the bytes that were read.
    var bytes = [UInt8](repeating: 0, count: min(limit, FileDescriptor.firstRead) + 1)
    var filled = 0
    while true {
      filled += try read(into: &bytes, at: filled)
      guard filled <= limit else { throw PosixError("read", code: EFBIG) }
      if filled < bytes.count { break }
      bytes += [UInt8](repeating: 0, count: min(limit + 1, 4 * filled) - filled)
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }

  private static let firstRead = 16384

  /// Fills the caller's memory from the present position.
  ///
  /// - Returns: how many bytes there were, at most the buffer's size.
  public borrowing func read(into memory: consuming MutableRawSpan) throws(PosixError) -> Int {
    try memory.withUnsafeMutableBytes { buffer throws(PosixError) in try fill(buffer) }
  }

  /// Fills the caller's array from an offset on. Not for secrets.
  ///
  /// - Returns: how many bytes there were.
  public borrowing func read(into bytes: inout [UInt8], at offset: Int = 0) throws(PosixError) -> Int {
    try bytes.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
      try fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[offset...]))
    }
  }

  private borrowing func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(PosixError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let number = self.number
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let count = try retrying("read") { Glibc.read(number, rest.baseAddress, rest.count) }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// Writes all of `bytes`.
  public borrowing func writeAll(_ bytes: RawSpan) throws(PosixError) {
    try passAll(bytes, "write") { number, rest in Glibc.write(number, rest.baseAddress, rest.count) }
  }

  /// Repeats a call that may take only a part of `bytes`, until it has taken all of them.
  borrowing func passAll(
    _ bytes: RawSpan, _ call: StaticString, _ body: (Int32, UnsafeRawBufferPointer) -> Int
  ) throws(PosixError) {
    var passed = 0
    while passed < bytes.byteCount {
      let number = self.number
      passed += try retrying(call) {
        bytes.withUnsafeBytes { body(number, UnsafeRawBufferPointer(rebasing: $0[passed...])) }
      }
    }
  }

  /// Makes the system begin to write the file to the disk, and does not wait for the end.
  public borrowing func beginWriting() {
    // If a file system does not support this, it writes the file when it is synchronised.
    _ = linux_begin_writing(number)
  }

  /// Waits until all that was written to the file is on the disk.
  public borrowing func synchronize() throws(PosixError) {
    let number = self.number
    _ = try retrying("fsync") { fsync(number) }
  }
}
