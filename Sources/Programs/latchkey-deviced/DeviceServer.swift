import Glibc
import LatchkeyDeviceStore
import LatchkeyPosix
import LatchkeySystemd

/// The service's socket. Every user may connect. The user number that the kernel tells decides the answers.
///
/// No user can hold up another user. Each has a few connections, and one request of each is served in turn (``DeviceTurns``). A
/// turn of the loop accepts a bounded number of connections before it serves existing connections.
final class DeviceServer {
  private let listener: LocalSocket
  private let store: DeviceStore
  private let accounts: Accounts
  private let holds: Holds
  private let loop: EventLoop
  private let turns: DeviceTurns
  private var source: EventSource?
  private var peers: [Int32: DevicePeer] = [:]
  /// Connections that have ended and are not closed yet.
  private var ended: [DevicePeer] = []
  private var closer: EventSource?
  private var idle: EventSource?
  private let idleTime: Duration

  /// The most connections of all users together. The service drops further connections.
  private static let connectionLimit = 256
  /// The most connections of one user. Root may begin as many more for logins of that user. All user numbers without an account
  /// count as one user, because a person may have 65,536 numbers for containers.
  private static let userLimit = 8
  /// How many connections one turn of the loop accepts.
  private static let acceptLimit = 64

  /// - Parameter idle: after how many seconds without a peer the loop ends; 0 for never.
  init(
    _ listener: consuming LocalSocket, loop: EventLoop, store: DeviceStore, accounts: Accounts, holds: Holds,
    idle seconds: Int
  ) throws(SystemdError) {
    self.listener = listener
    self.store = store
    self.accounts = accounts
    self.holds = holds
    self.loop = loop
    turns = try DeviceTurns(loop: loop)
    idleTime = .seconds(seconds)
    if seconds > 0 { idle = try loop.addTimer(after: idleTime) { loop.exit() } }
    closer = try loop.addIdle { [unowned self] in
      closeEnded()
      return false
    }
    source = try loop.addIO(fd: self.listener.number, events: .readable) { [unowned self] _ in acceptSome() }
  }

  private func acceptSome() {
    for _ in 0..<DeviceServer.acceptLimit {
      guard let socket = try? listener.accept() else { return }
      // A user may have put descriptors into each of a thousand connections, and their closing waits in the kernel.
      loop.close(admit(socket))
    }
    // More connections may wait. Accepted connections have their turn first.
    source?.pause()
    turns.afterNext { [unowned self] in source?.resume() }
  }

  private func closeEnded() {
    let closing = ended
    ended = []
    loop.close(consume closing)
  }

  /// Lets a connection in. A connection that must be dropped costs no look-up of names.
  ///
  /// - Returns: the connection if it must be dropped.
  private func admit(_ socket: consuming LocalSocket) -> LocalSocket? {
    // A peer that is gone already needs no place.
    guard peers.count < DeviceServer.connectionLimit, let user = try? socket.peer().uid,
      (try? socket.pendingSize()) != 0, hasRoom(.account(user))
    else { return socket }
    let owner: DeviceUser = isKnown(user) ? .account(user) : .stranger
    guard hasRoom(owner) else { return socket }
    let number = socket.number
    let peer = DevicePeer(
      socket, user: user, owner: owner, loop: loop, store: store, holds: holds, turns: turns,
      hasRoom: { [unowned self] user in peers.values.count { $0.login == user } < DeviceServer.userLimit },
      ended: { [unowned self] in
        if let peer = peers.removeValue(forKey: number) { ended.append(peer) }
        closer?.resume()
        if peers.isEmpty { idle?.rearm(after: idleTime) }
      })
    guard let peer else { return nil }
    peers[number] = peer
    idle?.pause()
    return nil
  }

  /// Whether this user may have one more connection.
  private func hasRoom(_ owner: DeviceUser) -> Bool {
    let same = peers.values.count { peer in
      guard peer.login == nil else { return false }
      if case .account(let user) = owner { return peer.user == user }
      return peer.owner == .stranger
    }
    return same < DeviceServer.userLimit
  }

  /// Whether a user has keys here, or an account. If look-ups of names take too much time, only the keys count.
  private func isKnown(_ user: uid_t) -> Bool {
    store.hasKeys(of: user) || (accounts.mayLookUp && accounts.contains(user) == true)
  }
}
