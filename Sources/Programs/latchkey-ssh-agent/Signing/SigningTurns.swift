import LatchkeySystemd

/// Signatures that wait for each other, in the order of their requests.
///
/// A key with requirements makes one signature at a time: to the vault all clients of the agent are one, so each could use
/// another's grant. Security keys wait for each other, because the person must know the signature of a touch. For the same reason
/// each requested touch is followed by a quiet time (``QuietTime``).
final class SigningTurns {
  /// The answer to a signature that wants its turn.
  enum Entry {
    case now
    case later
    /// Too many wait already.
    case never
  }

  /// The most signatures that wait for one turn. Their clients are never disconnected for others, so their number is limited.
  private static let limit = 32

  /// For each key with requirements, and for the security keys: the signature that is being made.
  private var current: [Signing.Turn: Signing] = [:]
  private(set) var waiting: [Signing] = []
  private let begin: (Signing) -> Void
  /// While this pause lasts, no security key has its turn.
  private var quiet: EventSource?

  /// - Parameter begin: called when a signature that waited may ask for its turn once more.
  init(loop: EventLoop, begin: @escaping (Signing) -> Void) throws(SystemdError) {
    self.begin = begin
    quiet = try loop.addTimer(after: QuietTime.unanswered) { [unowned self] in beginNext(.securityKeys) }
    quiet?.pause()
  }

  /// Whether this signature has the turn.
  func has(_ turn: Signing.Turn, _ signing: Signing) -> Bool { current[turn] === signing }

  /// Gives a signature its turn, or has it wait.
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

  /// Takes a signature out, and begins the next one if it had its turn.
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
