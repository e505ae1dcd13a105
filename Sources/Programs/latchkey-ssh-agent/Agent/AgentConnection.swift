import Glibc
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySodium
import LatchkeySystemd

/// One client's connection. It has one request at a time: the agent reads the next request after it has written the last answer.
final class AgentConnection {
  /// The program at the other end.
  let peer: LocalSocket.Peer
  /// The ssh sessions to which the connection was bound.
  var bindings = SessionBindings()

  /// The number of one client's requests after which the agent serves the other clients.
  private static let requestLimit = 16

  private let socket: FileDescriptor
  private let loop: EventLoop
  private let handle: (AgentConnection, borrowing SecureBytes) -> Void
  private let ended: (AgentConnection) -> Void
  private var source: EventSource?
  private var watched = IOEvents.readable
  private var header: [UInt8] = []
  /// The message that is being read, which may be a private key.
  private var body: SecureBytes?
  private var filled = 0
  private var output: ArraySlice<UInt8> = []
  /// Whether a request waits for its answer.
  private(set) var isWaiting = false
  private(set) var hasEnded = false
  /// The moment at which the client last sent something, in milliseconds of the monotonic clock.
  private(set) var lastUse = Process.now

  /// Nil if the client has left, or belongs to another user.
  init?(
    _ socket: consuming FileDescriptor, loop: EventLoop,
    handle: @escaping (AgentConnection, borrowing SecureBytes) -> Void, ended: @escaping (AgentConnection) -> Void
  ) {
    guard let peer = try? socket.peer(), peer.uid == getuid() || peer.uid == 0 else { return nil }
    self.peer = peer
    self.socket = socket
    self.loop = loop
    self.handle = handle
    self.ended = ended
    watch(.readable)
  }

  private func watch(_ events: IOEvents) {
    guard watched != events || source == nil else { return }
    watched = events
    source = nil
    source = try? loop.addIO(fd: socket.number, events: events) { [unowned self] events in
      if isWaiting { return end() }  // While a request waits, only the client's end matters.
      if !output.isEmpty { return write() }
      read()
    }
    if source == nil { end() }
  }

  /// The host whose requests the client forwards. Nil if the client forwards nothing, or if the agent does not trust its bindings.
  func forwardingHost(by asker: Asker) -> PublicKey? { asker.bindsForwarded ? bindings.forwardingHost : nil }

  /// Closes the connection.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    source = nil
    body = nil
    ended(self)
  }

  // MARK: Reading

  private func read() {
    var requests = 0
    while !hasEnded, !isWaiting, output.isEmpty, requests < Self.requestLimit {
      if header.count < 4 {
        var bytes = [UInt8](repeating: 0, count: 4 - header.count)
        var room = bytes.mutableSpan
        let count = receive(into: room.mutableBytes)
        guard count > 0 else { return }
        header += bytes.prefix(count)
        guard header.count == 4 else { continue }
        let size = header.reduce(0) { $0 << 8 | Int($1) }
        guard (1...AgentMessage.sizeLimit).contains(size), let room = try? SecureBytes(count: size) else {
          return end()
        }
        body = consume room
        filled = 0
      }
      guard var room = body.take() else { return end() }
      let count = receive(into: room.mutableBytes(from: filled))
      if count > 0 { filled += count }
      guard filled == room.count else {
        if !hasEnded { body = consume room }
        if count <= 0 { return }
        continue
      }
      header = []
      requests += 1
      isWaiting = true
      handle(self, room)
      // An answer that needs a person comes later, so the agent does not read from this client until then.
      if isWaiting, !hasEnded { watch(IOEvents(rawValue: 0)) }
    }
  }

  /// - Returns: how many bytes came; 0 if no byte waits, or if the client has left, which ends the connection.
  private func receive(into memory: consuming MutableRawSpan) -> Int {
    let count = SystemCall.receive(socket.number, into: memory, flags: Int32(MSG_DONTWAIT))
    if count > 0 {
      lastUse = Process.now
      return count
    }
    if count == 0 || errno != EAGAIN && errno != EINTR { end() }
    return 0
  }

  // MARK: Writing

  /// Answers the request. Nothing happens if the client has left.
  func answer(_ message: [UInt8]) {
    guard !hasEnded, isWaiting else { return }
    isWaiting = false
    var framed = SSHWriter()
    framed.string(message)
    output = framed.bytes[...]
    write()
  }

  /// Answers with a message that has no fields.
  func answer(_ message: AgentMessage) { answer([message.rawValue]) }

  private func write() {
    while !output.isEmpty {
      let rest = output
      let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
      let count = SystemCall.send(socket.number, rest.span.bytes, flags: flags)
      if count < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN { return watch(.writable) }
        return end()
      }
      output = output.dropFirst(count)
    }
    watch(.readable)
  }
}
