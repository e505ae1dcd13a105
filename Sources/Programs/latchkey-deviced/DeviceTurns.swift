import Glibc
import LatchkeySystemd

/// The user for whom a connection counts.
enum DeviceUser: Hashable {
  /// A user who has keys in the store, or an account.
  case account(uid_t)
  /// All other users together.
  case stranger
}

/// Serves the connections that have sent something: one request of each user in a round. So a user waits for at most one request of
/// every other user, however many requests the others send.
///
/// Each user has a share of the service's time (``TimeShare``). A user who has used it up waits for new time, which limits work
/// that syncs a disk or writes to the journal.
final class DeviceTurns {
  private let loop: EventLoop
  private let clock = ContinuousClock()
  private var waiting: [DeviceUser: [DevicePeer]] = [:]
  private var shares: [DeviceUser: TimeShare] = [:]
  private var round: EventSource?
  private var timer: EventSource?
  private var after: (() -> Void)?

  /// If more users than this have shares, the service drops unused shares.
  private static let shareLimit = 256

  init(loop: EventLoop) throws(SystemdError) {
    self.loop = loop
    round = try loop.addIdle { [unowned self] in serveRound() }
  }

  /// Notes that a connection has something to read.
  func add(_ peer: DevicePeer) {
    waiting[peer.turn, default: []].append(peer)
    round?.resume()
  }

  /// Calls `body` once, after the next round.
  func afterNext(_ body: @escaping () -> Void) {
    after = body
    round?.resume()
  }

  /// - Returns: whether another round must follow at once.
  private func serveRound() -> Bool {
    var delay: Duration?
    for user in Array(waiting.keys) {
      let pause = share(of: user).pause(at: clock.now)
      guard pause == .zero else {
        delay = min(delay ?? pause, pause)
        continue
      }
      serve(user)
    }
    let after = after
    self.after = nil
    after?()
    guard let delay, waiting.keys.allSatisfy({ share(of: $0).pause(at: clock.now) > .zero }) else {
      return !waiting.isEmpty
    }
    timer = try? loop.addTimer(after: delay) { [unowned self] in _ = round?.resume() }
    return timer == nil
  }

  /// Serves the first of a user's connections.
  private func serve(_ user: DeviceUser) {
    guard let peer = waiting[user]?.removeFirst() else { return }
    if waiting[user]?.isEmpty ?? false { waiting[user] = nil }
    let start = clock.now
    let cost = peer.serve()
    // Root could do all of this without the service, so its time is not limited.
    guard user != .account(0) else { return }
    var share = share(of: user)
    share.take(start.duration(to: clock.now) + cost, at: clock.now)
    if shares.count >= DeviceTurns.shareLimit { shares = shares.filter { !$0.value.isWhole(at: clock.now) } }
    shares[user] = share
  }

  private func share(of user: DeviceUser) -> TimeShare {
    // Users without an account may cause look-ups of any length, so they may have to wait longer.
    shares[user] ?? TimeShare(longestPause: user == .stranger ? .seconds(30) : .seconds(1), at: clock.now)
  }
}
