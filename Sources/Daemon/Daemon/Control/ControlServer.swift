import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySessionState
import LatchkeySystemd

/// Hears the events of peers of the control socket that are not messages.
protocol ControlServerDelegate: AnyObject {
  /// The connection of a prompt has ended; nil if its program reported no end.
  func promptEnded(on connection: any PromptConnection, _ end: PromptEnd?)
  /// A packet of another version came, which must be answered.
  func met(_ message: OtherVersionMessage, from peer: ControlPeer)
}

/// The control socket: it takes connections of the user and of root, and gives each connection its own place and time limit. So no
/// peer can delay the service for others.
final class ControlServer {
  private let listener: LocalSocket
  private let loop: EventLoop
  private let owner: uid_t
  private let table: ControlTable
  private unowned let delegate: any ControlServerDelegate
  private var source: EventSource?
  private var peers: [Int32: ControlPeer] = [:]

  /// Further connections wait in the kernel, until a connection ends.
  private static let connectionLimit = 32
  /// The most helpers that may be at work for this daemon. Each takes Argon2id's memory, for minutes on a slow machine.
  private static let helperLimit = 3

  /// - Parameter delegate: must live as long.
  init(
    _ listener: consuming LocalSocket, loop: EventLoop, owner: uid_t, table: ControlTable,
    delegate: any ControlServerDelegate
  ) throws(SystemdError) {
    self.listener = listener
    self.loop = loop
    self.owner = owner
    self.table = table
    self.delegate = delegate
    source = try loop.addIO(fd: self.listener.number, events: .readable) { [unowned self] _ in acceptAll() }
  }

  private func acceptAll() {
    while peers.count < ControlServer.connectionLimit {
      guard let socket = try? listener.accept() else { return }
      // Any other peer is dropped without an answer.
      guard let connection = ControlConnection(socket), connection.peer.uid == owner || connection.peer.uid == 0
      else { continue }
      if let peer = ControlPeer(connection, loop: loop, table: table, delegate: self) { peers[peer.number] = peer }
    }
    source?.pause()
  }

  /// Asks the helpers that work on a password to end. They erase their memory. Helpers that have handed over their keys end by
  /// themselves.
  ///
  /// - Parameter gone: called once, now or later: after all helpers have ended, or after a time limit.
  func endDerivations(_ which: UnwantedDerivations, gone: @escaping () -> Void) {
    var left = 1
    let hasLeft = {
      left -= 1
      if left == 0 { gone() }
    }
    // A helper that is already leaving counts too.
    for peer in peers.values where peer.hasDerived && peer.isAmong(which) {
      left += 1
      if peer.isDeriving { peer.withdraw(gone: hasLeft) } else { peer.awaitEnd(hasLeft) }
    }
    hasLeft()
  }

  /// Notes that a helper begins to work, and ends others. An earlier helper of the same login is not needed any more, unless only
  /// its keys may lift a lock. If there are still too many helpers, the oldest ones end, because their passwords were perhaps
  /// wrong.
  private func makeRoom(for newest: ControlPeer) {
    var others = peers.values.filter { $0 !== newest && $0.isDeriving && !$0.isLeaving }.sorted { $0.begun < $1.begun }
    while let index = others.firstIndex(where: { newest.follows($0) && (newest.mayLift || !$0.mayLift) }) {
      others.remove(at: index).withdraw {}
    }
    for oldest in others.prefix(max(others.count - ControlServer.helperLimit + 1, 0)) { oldest.withdraw {} }
  }
}

extension ControlServer: ControlPeerDelegate {
  func ended(_ peer: ControlPeer) {
    peers[peer.number] = nil
    source?.resume()
  }

  func willDerive(_ peer: ControlPeer) { makeRoom(for: peer) }

  func promptEnded(_ peer: ControlPeer, _ end: PromptEnd?) { delegate.promptEnded(on: peer, end) }

  func met(_ message: OtherVersionMessage, from peer: ControlPeer) { delegate.met(message, from: peer) }
}
