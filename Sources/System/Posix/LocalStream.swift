import CLatchkeyLinux
import Glibc

extension FileDescriptor {
  /// The numbers of two local sockets that are connected with each other, as streams of bytes. The caller owns both ends.
  public static func connectedPair() throws(PosixError) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    _ = try retrying("socketpair") { socketpair(AF_UNIX, type, 0, &ends) }
    return (ends[0], ends[1])
  }

  /// Ends the sending side of a socket, which the other end notices.
  public borrowing func endSending() { shutdown(number, Int32(SHUT_WR)) }

  /// Connects to a local socket that is a stream of bytes, such as the socket of an ssh agent. Neither reading nor writing waits
  /// longer than `seconds` for the other end.
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

  /// Listens at `path` for streams of bytes. Only the owner may reach it. A socket that a dead process left there is replaced.
  ///
  /// - Throws: ``PosixError`` with `EADDRINUSE` if somebody listens there, or if the file there is no socket.
  public static func listen(stream path: String, backlog: Int32 = 128) throws(PosixError) -> FileDescriptor {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = FileDescriptor(owning: try retrying("socket") { socket(AF_UNIX, type, 0) })
    let number = descriptor.number
    var file = stat()
    if lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFSOCK {
      do { _ = try connect(stream: path, seconds: 1) } catch  where error.code == ECONNREFUSED { unlink(path) } catch {}
    }
    // Linux gives the file the mode of the socket, less the umask.
    _ = try retrying("fchmod") { fchmod(number, 0o600) }
    let status = try LocalSocket.withAddress(path) { address, size in bind(number, address, size) }
    guard status == 0 else { throw PosixError("bind") }
    _ = try retrying("listen") { Glibc.listen(number, backlog) }
    return descriptor
  }

  /// The next connection of a socket that listens, close-on-exec and not blocking; nil when no connection waits.
  public borrowing func acceptStream() throws(PosixError) -> FileDescriptor? {
    let number = linux_accept(self.number)
    guard number >= 0 else {
      if errno == EAGAIN || errno == EINTR || errno == ECONNABORTED { return nil }
      throw PosixError("accept")
    }
    return FileDescriptor(owning: number)
  }

  /// The process at the other end of a local socket, in its state when the connection was made, or when that process began to
  /// listen.
  public borrowing func peer() throws(PosixError) -> LocalSocket.Peer {
    var pid: pid_t = 0
    var uid: uid_t = 0
    guard linux_peer(number, &pid, &uid) == 0 else { throw PosixError("peer") }
    return LocalSocket.Peer(pid: pid, uid: uid)
  }

  /// The name of the other end of a local socket, as its process chose it; nil without one. An abstract name begins with a zero
  /// byte.
  public borrowing func peerName() -> [UInt8]? {
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let number = self.number
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(number, $0, &size) }
    }
    let begin = MemoryLayout.size(ofValue: address.sun_family)
    guard status == 0, address.sun_family == sa_family_t(AF_UNIX), Int(size) > begin else { return nil }
    let count = Int(size) - begin
    return withUnsafeBytes(of: address.sun_path) { Array($0.prefix(count)) }
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
    let filled = try read(into: &bytes)
    guard filled == count else { throw PosixError("read", code: EPIPE) }
    return bytes
  }
}
