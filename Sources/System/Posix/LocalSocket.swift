import CLatchkeyLinux
import Glibc

/// A connected or listening local socket that keeps packets apart (`SOCK_SEQPACKET`), close-on-exec, never blocking: every
/// wait has a deadline.
public struct LocalSocket: ~Copyable {
  private let descriptor: FileDescriptor

  /// The process at the other end, as the kernel saw it when the connection was made.
  public struct Peer: Equatable, Sendable {
    /// The process.
    public let pid: pid_t
    /// The peer's effective user.
    public let uid: uid_t
  }

  /// Takes over a socket, for example one that the service manager passed.
  ///
  /// - Throws: ``PosixError`` with `EINVAL` for anything but a local socket that keeps packets apart.
  public init(owning descriptor: consuming FileDescriptor) throws(PosixError) {
    let number = descriptor.number
    guard try LocalSocket.option(number, SO_DOMAIN) == AF_UNIX,
      try LocalSocket.option(number, SO_TYPE) == Int32(SOCK_SEQPACKET.rawValue)
    else { throw PosixError("socket", code: EINVAL) }
    _ = try retrying("fcntl") { fcntl(number, F_SETFD, FD_CLOEXEC) }
    let flags = try retrying("fcntl") { fcntl(number, F_GETFL) }
    _ = try retrying("fcntl") { fcntl(number, F_SETFL, flags | O_NONBLOCK) }
    self.descriptor = descriptor
  }

  private init(new descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// The number, for an event loop.
  public var number: Int32 { descriptor.number }

  private static func option(_ number: Int32, _ name: Int32) throws(PosixError) -> Int32 {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    _ = try retrying("getsockopt") { getsockopt(number, SOL_SOCKET, name, &value, &size) }
    return value
  }

  private static func unconnected() throws(PosixError) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("socket") {
        socket(
          AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      })
  }

  static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) throws(PosixError) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
      throw PosixError("socket", code: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Connects to the socket at `path`. A local connection is made at once or not at all, so nothing waits.
  ///
  /// - Throws: ``PosixError``: `ENOENT` and `ECONNREFUSED` if nobody listens, `EAGAIN` if too many wait.
  public static func connect(to path: String) throws(PosixError) -> LocalSocket {
    let descriptor = try unconnected()
    let number = descriptor.number
    let status = try withAddress(path) { address, size in Glibc.connect(number, address, size) }
    guard status == 0 else { throw PosixError("connect") }
    return LocalSocket(new: descriptor)
  }

  /// Connects to the socket at `path`, and waits while too many others do.
  ///
  /// - Throws: ``PosixError``: `ENOENT` and `ECONNREFUSED` if nobody listens, `ETIMEDOUT`, `ECANCELED`.
  public static func connect(to path: String, until deadline: Deadline) throws(PosixError) -> LocalSocket {
    let descriptor = try unconnected()
    let number = descriptor.number
    let flags = try retrying("fcntl") { fcntl(number, F_GETFL) }
    // The kernel first accepts the callers that have waited longest. A caller that does not wait has no place in that line.
    _ = try retrying("fcntl") { fcntl(number, F_SETFL, flags & ~O_NONBLOCK) }
    while true {
      var slice = timeval(tv_sec: 0, tv_usec: 1000 * min(try deadline.rest("connect"), 20))
      _ = try retrying("setsockopt") {
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &slice, socklen_t(MemoryLayout<timeval>.size))
      }
      if try withAddress(path, { address, size in Glibc.connect(number, address, size) }) == 0 { break }
      guard errno == EAGAIN || errno == EINTR else { throw PosixError("connect") }
    }
    _ = try retrying("fcntl") { fcntl(number, F_SETFL, flags) }
    return LocalSocket(new: descriptor)
  }

  /// Listens at `path`, which only the owner may then reach; a socket that a dead process left there is replaced.
  ///
  /// - Parameter backlog: the most connections that wait in the kernel until they are accepted.
  /// - Throws: ``PosixError`` with `EADDRINUSE` if somebody listens there, or if the file there is no socket.
  public static func listen(at path: String, backlog: Int32 = 32) throws(PosixError) -> LocalSocket {
    let descriptor = try unconnected()
    let number = descriptor.number
    if isAbandoned(path) { unlink(path) }
    // Linux gives the file the mode of the socket, less the umask, which every thread of the process shares.
    _ = try retrying("fchmod") { fchmod(number, 0o600) }
    let status = try withAddress(path) { address, size in bind(number, address, size) }
    guard status == 0 else { throw PosixError("bind") }
    _ = try retrying("listen") { Glibc.listen(number, backlog) }
    return LocalSocket(new: descriptor)
  }

  /// Whether `path` is a socket that nobody listens on.
  private static func isAbandoned(_ path: String) -> Bool {
    var file = stat()
    guard lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFSOCK else { return false }
    do { _ = try connect(to: path) } catch { return error.code == ECONNREFUSED }
    return false
  }

  /// The next connection; nil if no connection waits.
  public borrowing func accept() throws(PosixError) -> LocalSocket? {
    let number = linux_accept(descriptor.number)
    guard number >= 0 else {
      if errno == EAGAIN || errno == EINTR || errno == ECONNABORTED { return nil }
      throw PosixError("accept")
    }
    return LocalSocket(new: FileDescriptor(owning: number))
  }

  /// The process at the other end.
  public borrowing func peer() throws(PosixError) -> Peer { try descriptor.peer() }

  /// Keeps the connection until this process ends, even after this value has ended. So the other end notices the end of the
  /// process.
  public borrowing func keepUntilProcessEnds() { _ = fcntl(descriptor.number, F_DUPFD_CLOEXEC, 0) }

  /// From now on, sends this process SIGTERM when a packet arrives or the other end closes; with false, it no longer does. Only one
  /// socket of a process can have this setting.
  ///
  /// - Returns: whether the other end is still open and nothing has arrived yet.
  public borrowing func endProcessOnInput(_ isOn: Bool) -> Bool {
    if isOn {
      LocalSocket.watched = descriptor.number
      var ending = sigaction()
      ending.__sigaction_handler.sa_handler = { _ in LocalSocket.endProcessIfAnythingCame() }
      ending.sa_flags = SA_RESTART
      sigaction(SIGIO, &ending, nil)
    }
    guard linux_signal_input(descriptor.number, isOn ? SIGIO : 0) == 0 else { return true }
    do { return try pendingSize() == nil } catch { return false }
  }

  /// The socket for which ``endProcessOnInput(_:)`` was called.
  nonisolated(unsafe) private static var watched: Int32 = -1

  /// Handles the kernel's signal, which does not prove that a packet waits. The kernel queues a packet, wakes the reader, and sends
  /// the signal last. So the signal may belong to a packet that a quick reader took before anybody asked for signals.
  private static func endProcessIfAnythingCame() {
    let kept = errno
    let isNothing = recv(watched, nil, 0, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && (errno == EAGAIN || errno == EINTR)
    errno = kept
    if !isNothing { raise(SIGTERM) }
  }

  /// Sends one packet, whole.
  public borrowing func send(_ packet: RawSpan) throws(PosixError) {
    let number = descriptor.number
    let sent = packet.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard sent == packet.byteCount else { throw PosixError("send", code: sent < 0 ? errno : EMSGSIZE) }
  }

  /// The size of the next packet, which stays in the socket; 0 if the other end has closed, nil if no packet waits.
  public borrowing func pendingSize() throws(PosixError) -> Int? {
    let count = recv(descriptor.number, nil, 0, Int32(MSG_PEEK | MSG_TRUNC))
    if count < 0 {
      if errno == EAGAIN || errno == EINTR { return nil }
      throw PosixError("receive")
    }
    return count
  }

  /// Takes one packet into the caller's memory.
  ///
  /// - Returns: the packet's size; 0 if the other end has closed; nil if no packet waits.
  /// - Throws: ``PosixError`` with `EMSGSIZE` for a packet that is larger than the memory; it is lost.
  public borrowing func receive(into memory: consuming MutableRawSpan) throws(PosixError) -> Int? {
    let size = memory.byteCount
    return try received(SystemCall.receive(descriptor.number, into: memory, flags: Int32(MSG_TRUNC)), size)
  }

  /// Takes one packet that is not secret into the caller's array, in the same way.
  public borrowing func receive(into bytes: inout [UInt8]) throws(PosixError) -> Int? {
    let size = bytes.count
    return try received(recv(descriptor.number, &bytes, size, Int32(MSG_TRUNC)), size)
  }

  private borrowing func received(_ count: Int, _ size: Int) throws(PosixError) -> Int? {
    if count < 0 {
      if errno == EAGAIN || errno == EINTR { return nil }
      throw PosixError("receive")
    }
    guard count <= size else { throw PosixError("receive", code: EMSGSIZE) }
    return count
  }

  /// Waits until there is a packet, or the other end has closed.
  ///
  /// - Parameter deadline: on the clock of ``Process/now``, in milliseconds.
  /// - Throws: ``PosixError`` with `ETIMEDOUT`.
  public borrowing func waitForPacket(until deadline: Int) throws(PosixError) {
    try waitForPacket(until: Deadline(deadline))
  }

  /// Waits until there is a packet, or the other end has closed.
  ///
  /// - Throws: ``PosixError`` with `ETIMEDOUT`, or `ECANCELED` if other work waits.
  public borrowing func waitForPacket(until deadline: Deadline) throws(PosixError) {
    try deadline.wait(for: descriptor.number, "receive")
  }
}
