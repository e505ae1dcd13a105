import Glibc
import LatchkeySystemd

/// Holds the requests of programs back while a login's keys are on their way. The login does not wait for its keys, and the first
/// program of its session must not hear that the vault is locked.
///
/// Nothing is read from the session bus meanwhile, so all messages keep their order: a question that came before a screen saver's
/// message is answered before the daemon reads that message. A hold keeps no key in memory longer, because it begins only while the
/// keys that a lock erases are not in memory. The messages of logind come by another connection.
///
/// Any process of the user can say that it is a helper, and so cause a hold. So a hold has a time limit, and requests that came
/// during a hold are answered before the next one begins.
final class LoginHold {
  private let loop: EventLoop
  private let presence: BusPresence
  /// The processes that work on the keys of a login, by the number of their connection.
  private var helpers: [Int32: pid_t] = [:]
  private var limit: EventSource?
  private var askerLimit: EventSource?
  private var askers: [() -> Void] = []
  /// The processes that took too long. No request waits for them any more.
  private var late: Set<Int32> = []

  /// The time limit for calls from the bus. Programs give up after 25 s, and so does the bus if it started this program.
  private static let limit = Duration.seconds(10)
  /// The time limit for requests on the control socket. `latchkey status` gives up after 5 s.
  private static let askerLimit = Duration.seconds(4)

  init(loop: EventLoop, presence: BusPresence) { (self.loop, self.presence) = (loop, presence) }

  /// Notes that a helper begins to work on the keys of a login.
  func begin(_ peer: ControlPeer) {
    let number = peer.number
    helpers[number] = peer.credentials.pid
    peer.loginEnded = { [weak self] in self?.ended(number) }
    guard limit == nil else { return }
    do {
      limit = try loop.addTimer(after: Self.limit) { [weak self] in self?.giveUp() }
      askerLimit = try loop.addTimer(after: Self.askerLimit) { [weak self] in self?.answerAskers() }
    } catch { return giveUp() }
    presence.pause()
  }

  /// Runs `action` when no keys of a login are on their way any more, or after the time limit. A helper does not wait for itself.
  func whenOver(for process: pid_t, _ action: @escaping () -> Void) {
    if limit == nil || askerLimit == nil || helpers.values.contains(process) { action() } else { askers.append(action) }
  }

  /// Ends the hold: keys have come from any helper, or will not come.
  func end() {
    (limit, askerLimit) = (nil, nil)
    presence.resume()
    answerAskers()
  }

  private func ended(_ number: Int32) {
    helpers[number] = nil
    late.remove(number)
    if limit != nil, late.isSuperset(of: helpers.keys) { end() }
  }

  private func giveUp() {
    late.formUnion(helpers.keys)
    end()
  }

  private func answerAskers() {
    askerLimit = nil
    let told = askers
    askers = []
    for action in told { action() }
  }
}
