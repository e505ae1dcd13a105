import LatchkeySystemd

/// Signatures that wait for each other, in the order of their requests.
///
/// A key with requirements makes one signature at a time. The vault sees all clients of the agent as one client, so one of them
/// could otherwise use a grant for another one. Security keys wait for each other, because the person must know which signature a
/// touch allows. For the same reason a quiet time follows each requested touch (``QuietTime``).
final class SigningTurns {
  /// The answer to a signature that wants its turn.
  enum Entry {
    case now
    case later
    /// Too many signatures already wait.
    case never
  }

  /// The most signatures that wait for one turn. The agent never disconnects a waiting client to make room, so their number must
  /// have a limit.
  private static let limit = 32

  /// The signature that has the turn, for each key with requirements and for all security keys together.
  private var current: [Signing.Turn: Signing] = [:]
  private(set) var waiting: [Signing] = []
  private let begin: (Signing) -> Void
  /// While this pause lasts, no security key has its turn.
  private var quiet: EventSource?

  /// - Parameter begin: called when a waiting signature may ask for its turn again.
  init(loop: EventLoop, begin: @escaping (Signing) -> Void) throws(SystemdError) {
    self.begin = begin
    quiet = try loop.addTimer(after: QuietTime.unanswered) { [unowned self] in beginNext(.securityKeys) }
    quiet?.pause()
  }

  /// Whether this signature has the turn.
  func has(_ turn: Signing.Turn, _ signing: Signing) -> Bool { current[turn] === signing }

  /// Gives a signature its turn, or makes it wait.
  func enter(_ signing: Signing, _ turn: Signing.Turn) -> Entry {
    if current[turn] == nil, turn != .securityKeys || !isQuiet {
      current[turn] = signing
      return .now
    }
    guard waiting.count(where: { $0.turn == turn }) < Self.limit else { return .never }
    waiting.append(signing)
    return .later
  }

  private var isQuiet: Bool { quiet?.isEnabled ?? false }

  /// Removes a signature. If it had the turn, the next signature begins.
  func leave(_ signing: Signing) {
    waiting.removeAll { $0 === signing }
    guard let turn = signing.turn, has(turn, signing) else { return }
    current[turn] = nil
    if signing.wasTouchAsked {
      quiet?.rearm(after: signing.wasMade ? QuietTime.answered : QuietTime.unanswered)
    } else {
      beginNext(turn)
    }
  }

  private func beginNext(_ turn: Signing.Turn) {
    guard let next = waiting.firstIndex(where: { $0.turn == turn }) else { return }
    begin(waiting.remove(at: next))
  }
}
