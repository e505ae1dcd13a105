import Glibc

/// Single calls of the kernel, for programs that wait in a loop of their own. As in libc, the result is how many bytes passed,
/// or -1 with the reason in `errno`.
public enum SystemCall {
  /// One read(2) into the caller's memory.
  public static func read(_ number: Int32, into memory: consuming MutableRawSpan) -> Int {
    memory.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
  }

  /// One pread(2), from an offset of the file.
  public static func read(_ number: Int32, at offset: Int, into memory: consuming MutableRawSpan) -> Int {
    memory.withUnsafeMutableBytes { Glibc.pread(number, $0.baseAddress, $0.count, off_t(offset)) }
  }

  /// One recv(2) into the caller's memory.
  public static func receive(_ number: Int32, into memory: consuming MutableRawSpan, flags: Int32) -> Int {
    memory.withUnsafeMutableBytes { Glibc.recv(number, $0.baseAddress, $0.count, flags) }
  }

  /// One recv(2) into the caller's array from an offset on. Not for secrets.
  public static func receive(_ number: Int32, into bytes: inout [UInt8], at offset: Int, flags: Int32) -> Int {
    bytes.withUnsafeMutableBytes { all in
      let rest = UnsafeMutableRawBufferPointer(rebasing: all[offset...])
      return Glibc.recv(number, rest.baseAddress, rest.count, flags)
    }
  }

  /// One write(2).
  public static func write(_ number: Int32, _ bytes: RawSpan) -> Int {
    bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
  }

  /// One send(2).
  public static func send(_ number: Int32, _ bytes: RawSpan, flags: Int32) -> Int {
    bytes.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, flags) }
  }
}
