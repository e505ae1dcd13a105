import Glibc
import LatchkeyDeviceService
import LatchkeyDeviceStore
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// One connection. Its user decides which requests it may make; for root, also the login that it announced.
final class DevicePeer {
  let user: uid_t
  /// The user for whom the connection counts.
  let owner: DeviceUser
  private let socket: LocalSocket
  private let store: DeviceStore
  /// Whether a user may have one more login connection.
  private let hasRoom: (uid_t) -> Bool
  private let ended: () -> Void
  private var source: EventSource?
  private var limit: EventSource?
  private var requests = 0
  /// The user whose login it is, once root said so. From then on the connection may ask for that user's share of a session,
  /// and for nothing else. Its process is no longer root.
  private(set) var login: uid_t?

  /// How long a peer may be silent.
  private static let silenceLimit = Duration.seconds(5)
  /// After so many requests the connection ends.
  private static let requestLimit = 64
  /// The extra cost of a request that writes a line into the journal, on top of its time.
  private static let lineCost = Duration.milliseconds(100)

  init?(
    _ socket: consuming LocalSocket, user: uid_t, owner: DeviceUser, loop: EventLoop, store: DeviceStore,
    turns: DeviceTurns, hasRoom: @escaping (uid_t) -> Bool, ended: @escaping () -> Void
  ) {
    self.socket = socket
    self.user = user
    self.owner = owner
    self.store = store
    self.hasRoom = hasRoom
    self.ended = ended
    do {
      limit = try loop.addTimer(after: DevicePeer.silenceLimit) { [weak self] in self?.end() }
      source = try loop.addIO(fd: self.socket.number, events: .readable) { [weak self, weak turns] _ in
        guard let self else { return }
        source?.pause()
        turns?.add(self)
      }
    } catch { return nil }
  }

  /// The user whose turn it is when the connection is served.
  var turn: DeviceUser { login.map { .account($0) } ?? owner }

  private func end() {
    guard source != nil else { return }
    (source, limit) = (nil, nil)
    ended()
  }

  /// Takes one packet and answers it.
  ///
  /// - Returns: the cost on top of its time.
  func serve() -> Duration {
    guard source != nil else { return .zero }
    var cost = Duration.zero
    do {
      var packet = try SecureBytes(count: DevicePacket.sizeLimit)
      let size = try packet.withUnsafeMutableBytes { buffer throws(PosixError) in try socket.receive(into: buffer) }
      guard let size else {
        source?.resume()
        return .zero
      }
      requests += 1
      guard size > 0, requests <= DevicePeer.requestLimit,
        let reply = try answer(DeviceRequest(decoding: packet.bytes.extracting(first: size)), &cost)
      else {
        end()
        return cost
      }
      // A peer that does not read is not waited for.
      try socket.send(reply.bytes)
      limit?.rearm(after: DevicePeer.silenceLimit)
      source?.resume()
    } catch { end() }
    return cost
  }

  /// The answer; nil for a malformed or unexpected request.
  private func answer(_ request: consuming DeviceRequest, _ cost: inout Duration) throws -> SecureBytes? {
    do {
      if let login { return try answer(request, atLoginOf: login) }
      switch consume request {
      case .identity:
        let (identity, backend) = try store.identity(of: user)
        return try DeviceReply.identity(identity, backend)
      case .wrap(let share, let kind, let context):
        return try DeviceReply.wrapped(try store.wrap(share, kind, context: context, of: user))
      case .unwrap(let wrapped, let kind, let context):
        // Such a share would protect no better than a file of the user's.
        guard kind != .session else { return try DeviceReply.refused(.device(.onlyAtLogin)) }
        return try DeviceReply.unwrapped(try store.unwrap(wrapped, kind, context: context, of: user))
      case .eraseErasable(let other):
        guard other == user || user == 0 else {
          return try DeviceReply.refused(.device(.onlyRootErases))
        }
        guard try store.eraseErasable(of: other) else {
          // A vault erases its own secret, whether one exists or not. Root is told whether one did.
          if other != user { return try DeviceReply.failed(.otherDevice) }
          break
        }
        cost = DevicePeer.lineCost
        Journal.log(.notice, "the erasable secret of user \(other) was erased, as user \(user) asked")
      case .move(let backend):
        guard user == 0 else { return try DeviceReply.refused(.device(.onlyRootMoves)) }
        try store.move(to: backend)
      case .forget(let other):
        guard user == 0 else { return try DeviceReply.refused(.device(.onlyRootForgets)) }
        guard try store.forget(other) else { return try DeviceReply.failed(.otherDevice) }
        Journal.log(.notice, "user \(other) was forgotten, as root asked")
      case .note(let generations, let vault, let isBeginning):
        return try DeviceReply.noted(
          try store.note(generations, ofVault: vault, isBeginning: isBeginning, of: user))
      case .session(let other):
        guard user == 0, other != 0 else { return try DeviceReply.refused(.device(.onlyRootLogin)) }
        guard hasRoom(other) else { return try DeviceReply.refused(.device(.manyLogins)) }
        login = other
      case .hold: return nil
      case .drop: return nil
      case .held: return nil
      case .verify: return nil
      case .malformed: return nil
      }
      return try DeviceReply.done()
    } catch let error as DeviceKeyError { return try DeviceReply.failed(error) }
  }

  /// The answer to a connection that is a user's login.
  private func answer(_ request: consuming DeviceRequest, atLoginOf user: uid_t) throws -> SecureBytes? {
    switch consume request {
    case .unwrap(let wrapped, .session, let context):
      let share = try store.unwrap(wrapped, .session, context: context, of: user)
      Journal.log(.info, "a login of user \(user) in which nobody gave a password got its key")
      return try DeviceReply.unwrapped(share)
    case .malformed: return nil
    default: return try DeviceReply.refused(.device(.loginConnection))
    }
  }
}
