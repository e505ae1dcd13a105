import CLatchkeyLinux
import Glibc

extension FileDescriptor {
  /// Connects to a local socket that is a stream of bytes, as an agent for ssh has it. Neither reading nor writing waits longer
  /// than `seconds` for the other end.
  ///
  /// - Throws: ``PosixError``: `ENOENT` and `ECONNREFUSED` if nobody listens.
  public static func connect(stream path: String, seconds: Int) throws(PosixError) -> FileDescriptor {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = FileDescriptor(owning: try retrying("socket") { socket(AF_UNIX, type, 0) })
    let number = descriptor.number
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      let size = socklen_t(MemoryLayout<timeval>.size)
      _ = try retrying("setsockopt") { setsockopt(number, SOL_SOCKET, option, &limit, size) }
    }
    let status = try LocalSocket.withAddress(path) { address, size in Glibc.connect(number, address, size) }
    guard status == 0 else { throw PosixError("connect") }
    return descriptor
  }

  /// The process at the other end of a local socket, as it was when the connection was made or that process began to listen.
  public borrowing func peer() throws(PosixError) -> LocalSocket.Peer {
    var pid: pid_t = 0
    var uid: uid_t = 0
    guard linux_peer(number, &pid, &uid) == 0 else { throw PosixError("peer") }
    return LocalSocket.Peer(pid: pid, uid: uid)
  }

  /// Writes all of `bytes` to a socket. If the other end closed, that is an error and raises no signal.
  ///
  /// - Throws: ``PosixError`` with `EPIPE` if nobody reads any more.
  public borrowing func sendAll(_ bytes: RawSpan) throws(PosixError) {
    try passAll(bytes, "send") { number, rest in send(number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)) }
  }

  /// The next `count` bytes. Not for secrets.
  ///
  /// - Throws: ``PosixError`` with `EPIPE` if fewer bytes come.
  public borrowing func read(count: Int) throws(PosixError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let filled = try bytes.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
      try read(into: UnsafeMutableRawBufferPointer(buffer))
    }
    guard filled == count else { throw PosixError("read", code: EPIPE) }
    return bytes
  }
}
