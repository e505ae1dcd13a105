import CLatchkeyLinux
import Glibc

/// A pipe or socket that another process passed. Writing never waits, because the other process may read late or never. Closed
/// when the last reference ends.
///
/// Only for programs that called ``Process/ignoreBrokenPipes()``.
public final class Outlet {
  private let descriptor: FileDescriptor
  private let isSocket: Bool

  /// Takes over the passed descriptor.
  ///
  /// - Throws: ``PosixError`` with `EINVAL` for anything else than a pipe or a socket of this machine, which could make a
  ///   write or the end wait, and with `EBADF` for the reading end of a pipe.
  public init(_ passed: consuming FileDescriptor) throws(PosixError) {
    switch try passed.status().st_mode & S_IFMT {
    case S_IFSOCK:
      guard try Outlet.isLocal(passed.number) else {
        Outlet.dontLinger(passed.number)
        throw PosixError("write", code: EINVAL)
      }
      descriptor = passed
      isSocket = true
    case S_IFIFO:
      let number = passed.number
      let flags = try retrying("fcntl") { fcntl(number, F_GETFL) }
      guard flags & O_ACCMODE != O_RDONLY else { throw PosixError("write", code: EBADF) }
      // The sender shares the descriptor's flags. The sender could take O_NONBLOCK away in the middle of a write, and may not
      // expect the flag on its own end. So the file is opened once more.
      descriptor = try FileDescriptor.open("/proc/self/fd/\(number)", flags: O_WRONLY | O_NONBLOCK)
      isSocket = false
    default: throw PosixError("write", code: EINVAL)
    }
  }

  private static func isLocal(_ socket: Int32) throws(PosixError) -> Bool {
    var family: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    _ = try retrying("getsockopt") { getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) }
    return family == AF_UNIX
  }

  /// Closing a TCP connection can wait for its peer as long as its creator wishes (SO_LINGER), even without blocking otherwise. Our
  /// descriptor may be the last one of the connection. Connections of this machine never wait.
  private static func dontLinger(_ socket: Int32) {
    var none = linger(l_onoff: 0, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
  }

  /// The number, for an event loop.
  public var number: Int32 { descriptor.number }

  /// Writes as much as there is room for now.
  ///
  /// - Returns: the number of written bytes; 0 if there is no room now.
  /// - Throws: ``PosixError`` with `EPIPE` if nobody reads any more.
  public func write(_ bytes: RawSpan) throws(PosixError) -> Int {
    let number = descriptor.number
    do throws(PosixError) {
      return try retrying("write") {
        bytes.withUnsafeBytes { buffer in
          isSocket
            ? send(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            : Glibc.write(number, buffer.baseAddress, buffer.count)
        }
      }
    } catch {
      if error.code == EAGAIN { return 0 }
      throw error
    }
  }
}
