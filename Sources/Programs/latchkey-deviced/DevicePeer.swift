import Glibc
import LatchkeyDeviceService
import LatchkeyDeviceStore
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// One connection. The user of a connection decides which requests it may make. For root, the announced login decides too.
final class DevicePeer {
  let user: uid_t
  /// The user whose connections include this one.
  let owner: DeviceUser
  private let socket: LocalSocket
  private let store: DeviceStore
  private let holds: Holds
  /// Whether a user may have one more login connection.
  private let hasRoom: (uid_t) -> Bool
  private let ended: () -> Void
  private var source: EventSource?
  private var limit: EventSource?
  private var requests = 0
  /// The user whose login root announced; nil before the announcement. After the announcement the connection may ask only for that
  /// user's session share. The peer's process is no longer root then.
  private(set) var login: uid_t?
  /// The secret half of the key that the next packet is sealed to, if it hands a key over.
  private var oneTimeKey: Key?
  /// The peer's work that lasts longer than one request.
  private var work = Work.none

  /// The kinds of such work.
  private enum Work {
    case none
    /// The peer holds a covering key.
    case holding
    /// The peer waits for a finger.
    case verifying
  }

  /// A connection ends after so much silence of its peer.
  private static let silenceLimit = Duration.seconds(5)
  /// After so many requests the connection ends.
  private static let requestLimit = 64
  /// The extra cost of a request that writes a line into the journal, on top of its time.
  private static let lineCost = Duration.milliseconds(100)
  /// The extra cost of a touch for a prompt: the service connects to the bus, and fprintd works.
  private static let touchCost = Duration.milliseconds(50)

  init?(
    _ socket: consuming LocalSocket, user: uid_t, owner: DeviceUser, loop: EventLoop, store: DeviceStore,
    holds: Holds, turns: DeviceTurns, hasRoom: @escaping (uid_t) -> Bool, ended: @escaping () -> Void
  ) {
    self.socket = socket
    self.user = user
    self.owner = owner
    self.store = store
    self.holds = holds
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

  /// The user whose share of time the connection uses.
  var turn: DeviceUser { login.map { .account($0) } ?? owner }

  private func end() {
    guard source != nil else { return }
    (source, limit) = (nil, nil)
    if work != .none { holds.ended(self) }
    ended()
  }

  /// Sends a packet that answers no request, or a further answer to the same request.
  ///
  /// - Returns: whether the peer can still receive the packet.
  func push(_ packet: borrowing SecureBytes) -> Bool {
    guard source != nil else { return false }
    do {
      try socket.send(packet.bytes)
      return true
    } catch { return false }
  }

  /// Ends the connection, because its work is done.
  func finish() {
    work = .none
    end()
  }

  /// Takes one packet and answers it.
  ///
  /// - Returns: the extra cost, on top of the time that the packet took.
  func serve() -> Duration {
    guard source != nil else { return .zero }
    var cost = Duration.zero
    do {
      var packet = try SecureBytes(count: DevicePacket.sizeLimit)
      let size = try socket.receive(into: packet.mutableBytes)
      guard let size else {
        source?.resume()
        return .zero
      }
      // The connection of a holder lasts a day, so no limit of requests applies to it. Each touch costs time instead.
      if work != .holding { requests += 1 }
      let wasWorking = work != .none
      guard size > 0, requests <= DevicePeer.requestLimit,
        let reply = try answer(DeviceRequest(decoding: packet.bytes.extracting(first: size)), &cost)
      else {
        // A request to verify a finger is answered later, so the connection stays.
        if work == .verifying, !wasWorking { source?.resume() } else { end() }
        return cost
      }
      // Sending fails at once if the peer does not read.
      try socket.send(reply.bytes)
      if work == .none { limit?.rearm(after: DevicePeer.silenceLimit) } else { limit = nil }
      source?.resume()
    } catch { end() }
    return cost
  }

  /// The answer; nil for a malformed or unexpected request.
  private func answer(_ request: consuming DeviceRequest, _ cost: inout Duration) throws -> SecureBytes? {
    do {
      if let login { return try answer(request, atLoginOf: login) }
      if work != .none { return try answerAtWork(request, &cost) }
      switch consume request {
      case .identity:
        let (identity, backend) = try store.identity(of: user)
        return try DeviceReply.identity(identity, backend)
      case .wrap(let share, let kind, let context):
        return try DeviceReply.wrapped(try store.wrap(share, kind, context: context, of: user))
      case .unwrap(let wrapped, let kind, let context):
        // If a user could ask for it at any time, a session share would protect no better than the user's own file.
        guard kind != .session else { return try DeviceReply.refused(.device(.onlyAtLogin)) }
        return try DeviceReply.unwrapped(try store.unwrap(wrapped, kind, context: context, of: user))
      case .eraseErasable(let other):
        guard other == user || user == 0 else {
          return try DeviceReply.refused(.device(.onlyRootErases))
        }
        guard try store.eraseErasable(of: other) else {
          // A user may erase their own secret, even if there is none. Root gets a failure if the other user has none.
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
      case .makeKey:
        let secret = try Key.random()
        let publicKey = SealedBox.publicKey(of: secret)
        oneTimeKey = consume secret
        return try DeviceReply.made(publicKey)
      case .hold(let sealed):
        guard case .account = owner else { return try DeviceReply.refused(.device(.noPrints)) }
        guard let secret = oneTimeKey.take() else { return nil }
        let handed = try HandedKey(opening: sealed, with: secret)
        let state = try holds.hold(
          handed.key, to: handed.publicKey, isMemoryAllowed: handed.isMemoryAllowed, for: self)
        work = .holding
        return try DeviceReply.holds(state)
      case .drop: return try DeviceReply.refused(.device(.onlyHolder))
      case .touch: return try DeviceReply.refused(.device(.onlyHolder))
      case .leave: return try DeviceReply.refused(.device(.onlyHolder))
      case .held(let other):
        guard other == user || user == 0 else { return try DeviceReply.refused(.device(.onlyOwnHold)) }
        return try DeviceReply.held(holds.held(of: other))
      case .verify(let other):
        guard user == 0 else { return try DeviceReply.refused(.device(.onlyRootVerifies)) }
        switch holds.verify(other, for: self) {
        case .begun:
          (work, limit) = (.verifying, nil)
          return nil
        case .isVerifying: return try DeviceReply.refused(.device(.isVerifying))
        case .notHeld(let end): return try DeviceReply.word(.notHeld, end)
        }
      case .malformed: return nil
      }
      return try DeviceReply.done()
    } catch let error as DeviceKeyError { return try DeviceReply.failed(error) }
  }

  /// The answer to a peer at work. A holder may drop its key, or have a finger verified for its prompt. If a peer that waits for a
  /// finger sends anything, its connection ends.
  private func answerAtWork(_ request: consuming DeviceRequest, _ cost: inout Duration) throws -> SecureBytes? {
    guard work == .holding else { return nil }
    switch consume request {
    case .drop:
      work = .none
      holds.ended(self)
      return try DeviceReply.done()
    case .touch(let number):
      cost = DevicePeer.touchCost
      return try DeviceReply.news(.touch(holds.touch(number, for: self), number))
    case .leave(let number):
      holds.leave(self)
      return try DeviceReply.news(.touch(.givenUp, number))
    default: return nil
    }
  }

  /// The answer to a connection for which root has announced a login.
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
