import DeviceService
import DeviceStore
import Glibc
import Keybag
import Posix
import Sodium
import Systemd

/// The service's socket. Every user may connect; what he gets is decided by the user number that the kernel tells.
final class DeviceServer {
  private let listener: LocalSocket
  private let loop: EventLoop
  private let store: DeviceStore
  private var source: EventSource?
  private var peers: [Int32: DevicePeer] = [:]
  private var idle: EventSource?
  private let idleTime: Duration

  /// More connections than this wait in the kernel, until one of these ends.
  private static let connectionLimit = 64
  /// More of one user are dropped, and so many more may be logins of his, which root begins. All who are nobody's here count as one: a person may have 65,536 numbers for containers.
  private static let userLimit = 8

  /// - Parameter idle: after how many seconds without a peer the loop ends; 0 for never.
  init(_ listener: consuming LocalSocket, loop: EventLoop, store: DeviceStore, idle seconds: Int) throws(SystemdError) {
    self.listener = listener
    self.loop = loop
    self.store = store
    idleTime = .seconds(seconds)
    if seconds > 0 { idle = try loop.addTimer(after: idleTime) { loop.exit() } }
    source = try loop.addIO(fd: self.listener.number, events: .readable) { [unowned self] _ in acceptAll() }
  }

  private func acceptAll() {
    while peers.count < DeviceServer.connectionLimit {
      guard let socket = try? listener.accept() else { return }
      guard let user = try? socket.peer().uid else { continue }
      let isKnown = store.isKnown(user)
      let same = peers.values.count {
        $0.login == nil && $0.isKnown == isKnown && (!isKnown || $0.user == user)
      }
      guard same < DeviceServer.userLimit else { continue }
      let number = socket.number
      idle?.pause()
      peers[number] = DevicePeer(
        socket, user: user, isKnown: isKnown, loop: loop, store: store,
        hasRoom: { [unowned self] user in peers.values.count { $0.login == user } < DeviceServer.userLimit },
        ended: { [unowned self] in
          peers[number] = nil
          source?.resume()
          if peers.isEmpty { idle?.rearm(after: idleTime) }
        })
      if peers.isEmpty { idle?.rearm(after: idleTime) }
    }
    source?.pause()
  }
}

/// One connection. What it may ask is decided by who opened it, and that of root by what it said of itself since.
private final class DevicePeer {
  let user: uid_t
  let isKnown: Bool
  private let socket: LocalSocket
  private let store: DeviceStore
  /// Whether one more login of a user's may be there.
  private let hasRoom: (uid_t) -> Bool
  private let ended: () -> Void
  private var source: EventSource?
  private var limit: EventSource?
  private var requests = 0
  /// Whose login it is, once root said so: whoever holds it since then may ask for that user's share of a session, and for
  /// nothing else. It is held by a process that is root no more.
  private(set) var login: uid_t?

  /// How long a peer may be silent.
  private static let silenceLimit = Duration.seconds(5)
  /// After so many requests the connection ends.
  private static let requestLimit = 64

  init?(
    _ socket: consuming LocalSocket, user: uid_t, isKnown: Bool, loop: EventLoop, store: DeviceStore,
    hasRoom: @escaping (uid_t) -> Bool, ended: @escaping () -> Void
  ) {
    self.socket = socket
    self.user = user
    self.isKnown = isKnown
    self.store = store
    self.hasRoom = hasRoom
    self.ended = ended
    do {
      limit = try loop.addTimer(after: DevicePeer.silenceLimit) { [weak self] in self?.end() }
      source = try loop.addIO(fd: self.socket.number, events: .readable) { [weak self] _ in self?.receive() }
    } catch { return nil }
  }

  private func end() {
    guard source != nil else { return }
    (source, limit) = (nil, nil)
    ended()
  }

  private func receive() {
    do {
      var packet = try SecureBytes(count: DevicePacket.sizeLimit)
      let size = try packet.withUnsafeMutableBytes { buffer throws(PosixError) in try socket.receive(into: buffer) }
      guard let size else { return }
      requests += 1
      guard size > 0, requests <= DevicePeer.requestLimit,
        let reply = try answer(DeviceRequest(decoding: packet.bytes.extracting(first: size)))
      else { return end() }
      // A peer that does not read is not waited for.
      try socket.send(reply.bytes)
      limit?.rearm(after: DevicePeer.silenceLimit)
    } catch { end() }
  }

  /// The answer; nil for what nobody sends.
  private func answer(_ request: consuming DeviceRequest) throws -> SecureBytes? {
    do {
      if let login { return try answer(request, atLoginOf: login) }
      switch consume request {
      case .identity:
        let (identity, backend) = try store.identity(of: user)
        return try DeviceReply.identity(identity, backend)
      case .wrap(let share, let kind, let context):
        return try DeviceReply.wrapped(try store.wrap(share, kind, context: context, of: user))
      case .unwrap(let wrapped, let kind, let context):
        // It would be worth no more than a file of the user's.
        guard kind != .session else { return try DeviceReply.refused("that is given out at a login only") }
        return try DeviceReply.unwrapped(try store.unwrap(wrapped, kind, context: context, of: user))
      case .eraseErasable(let other):
        guard other == user || user == 0 else {
          return try DeviceReply.refused("only root erases what is another user's")
        }
        try store.eraseErasable(of: other)
        Journal.log(.notice, "the erasable secret of user \(other) was erased, as user \(user) asked")
      case .move(let backend):
        guard user == 0 else { return try DeviceReply.refused("only root moves the device secret") }
        try store.move(to: backend)
      case .forget(let other):
        guard user == 0 else { return try DeviceReply.refused("only root has a user forgotten") }
        try store.forget(other)
        Journal.log(.notice, "user \(other) was forgotten, as root asked")
      case .note(let generations, let vault, let isBeginning):
        return try DeviceReply.noted(
          try store.note(generations, ofVault: vault, isBeginning: isBeginning, of: user))
      case .session(let other):
        guard user == 0, other != 0 else { return try DeviceReply.refused("only root says whose login it is") }
        guard hasRoom(other) else { return try DeviceReply.refused("there are too many logins of that user") }
        login = other
      case .malformed: return nil
      }
      return try DeviceReply.done()
    } catch let error as DeviceKeyError { return try DeviceReply.failed(error) }
  }

  /// What a connection gets that is a user's login.
  private func answer(_ request: consuming DeviceRequest, atLoginOf user: uid_t) throws -> SecureBytes? {
    switch consume request {
    case .unwrap(let wrapped, .session, let context):
      let share = try store.unwrap(wrapped, .session, context: context, of: user)
      Journal.log(.info, "a login of user \(user) in which nobody gave a password got its key")
      return try DeviceReply.unwrapped(share)
    case .malformed: return nil
    default: return try DeviceReply.refused("this connection is a login's, and for nothing else")
    }
  }
}
