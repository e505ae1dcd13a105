import CLatchkeyPAMModule

/// A connection to the device key service, for the questions of a screen locker. When this value ends, the connection is closed,
/// and the service gives the reader up.
///
/// No wait lasts longer than its deadline, even if the service hangs.
struct DeviceConnection: ~Copyable {
  /// Why there is no connection.
  enum Failure {
    /// The service is not installed, or does not run.
    case absent
    /// Another user than root has the socket. Such a program must not be able to let anybody in.
    case notRoots
    case late
    case system(error: Int32)
  }

  /// How a wait for a packet ended.
  enum Arrival {
    case packet(size: Int)
    case late
    case ended
  }

  /// The longest packet, in bytes.
  static let packetLimit = 512

  private let socket: Int32

  deinit { _ = close(socket) }

  /// Connects to the service at `path`; nil, with the reason in `failure`, if there is no connection before the deadline.
  init?(to path: UnsafePointer<CChar>, until deadline: Deadline, failure: inout Failure) {
    let kind = SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    var descriptor = CLatchkeyPAMModule.socket(AF_UNIX, Int32(truncatingIfNeeded: kind), 0)
    guard descriptor >= 0 else {
      failure = .system(error: latchkey_errno())
      return nil
    }
    // The descriptor must not be taken for a standard stream, as in Helper.
    guard Helper.lift(&descriptor) else {
      failure = .system(error: latchkey_errno())
      _ = close(descriptor)
      return nil
    }
    while latchkey_connect(descriptor, path) != 0 {
      let error = latchkey_errno()
      if error == EINTR, deadline.left > 0 { continue }
      // Too many connections wait for the service. There may be room in a moment.
      if error == EAGAIN, deadline.left > 0 {
        _ = poll(nil, 0, 10)
        continue
      }
      failure =
        switch error {
        case ENOENT, ECONNREFUSED, ENOTDIR: .absent
        case EAGAIN, EINTR: .late
        default: .system(error: error)
        }
      _ = close(descriptor)
      return nil
    }
    guard latchkey_is_roots(descriptor) else {
      failure = .notRoots
      _ = close(descriptor)
      return nil
    }
    socket = descriptor
  }

  /// Sends a request about a user: version, operation, and the user's number in little-endian order.
  func send(_ operation: UInt8, user: UInt32, until deadline: Deadline) -> Bool {
    var packet: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (
      DeviceConnection.version, operation, UInt8(truncatingIfNeeded: user), UInt8(truncatingIfNeeded: user >> 8),
      UInt8(truncatingIfNeeded: user >> 16), UInt8(truncatingIfNeeded: user >> 24)
    )
    return withUnsafeBytes(of: &packet) { bytes in
      while true {
        let flags = Int32(truncatingIfNeeded: MSG_NOSIGNAL | MSG_DONTWAIT)
        let sent = CLatchkeyPAMModule.send(socket, bytes.baseAddress, bytes.count, flags)
        if sent < 0, latchkey_errno() == EINTR, deadline.left > 0 { continue }
        return sent == bytes.count
      }
    }
  }

  /// The version of the service's packets.
  static let version: UInt8 = 1

  /// Waits for the next packet, and puts it into the ``packetLimit`` bytes at `buffer`.
  func receive(into buffer: UnsafeMutableRawPointer, until deadline: Deadline) -> Arrival {
    while true {
      let left = deadline.left
      guard left > 0 else { return .late }
      var entry = pollfd(fd: socket, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
      let ready = poll(&entry, 1, Int32(truncatingIfNeeded: left))
      if ready == 0 || ready < 0 && latchkey_errno() == EINTR { continue }  // The deadline decides.
      guard ready > 0 else { return .ended }
      let flags = Int32(truncatingIfNeeded: MSG_DONTWAIT | MSG_TRUNC)
      let size = recv(socket, buffer, DeviceConnection.packetLimit, flags)
      if size > 0 { return .packet(size: size) }
      if size < 0, latchkey_errno() == EAGAIN || latchkey_errno() == EINTR { continue }
      return .ended
    }
  }
}
