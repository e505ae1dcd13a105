import Glibc
import LatchkeyDeviceStore
import LatchkeyPosix
import LatchkeySystemd

/// The service's socket. Every user may connect. The kernel tells the user number of each peer, and this number decides the
/// answers.
///
/// No user can hold up another user. Each user may have a few connections, and the service answers one request of each user in turn
/// (``DeviceTurns``). In one turn, the event loop accepts a bounded number of connections and then serves existing ones.
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
  /// The most connections of one user. Root may make as many again for logins of that user. All user numbers without an account
  /// count as one user, because a person may have 65,536 numbers for containers.
  private static let userLimit = 8
  /// How many connections one turn of the loop accepts.
  private static let acceptLimit = 64

  /// - Parameter idle: the loop ends after so many seconds without a peer; 0 for never.
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
      // Closing may wait in the kernel, because a user may have put descriptors into each of a thousand connections. `close` bounds
      // that wait.
      loop.close(admit(socket))
    }
    // More connections may wait, but the accepted ones are served first.
    source?.pause()
    turns.afterNext { [unowned self] in source?.resume() }
  }

  private func closeEnded() {
    let closing = ended
    ended = []
    loop.close(consume closing)
  }

  /// Lets a connection in, if there is room. The checks before the look-up of a name are cheap.
  ///
  /// - Returns: the connection if it must be dropped.
  private func admit(_ socket: consuming LocalSocket) -> LocalSocket? {
    // A peer that has already closed its end needs no place.
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

  /// Whether a user has keys in the store, or an account. If look-ups of names take too much time, only the keys count.
  private func isKnown(_ user: uid_t) -> Bool {
    store.hasKeys(of: user) || (accounts.mayLookUp && accounts.contains(user) == true)
  }
}
