import LatchkeyControl
import LatchkeyKeybag
import LatchkeySystemd

/// A question, and its state.
final class PendingPrompt {
  enum Phase {
    case waiting
    /// The delegate was asked whether to show the prompt, or whether its answer counts.
    case checked
    /// The prompt's program was started, and has this long to connect.
    case launched(EventSource?)
    case shown(any PromptConnection)
  }

  /// The prompt's number. It changes each time that the prompt is shown, so that the program of a withdrawn prompt cannot speak
  /// for it. 0 until then.
  var number: UInt64 = 0
  let question: Question
  var tickets: [PromptTicket] = []
  var phase = Phase.waiting
  /// Whether the client shows the prompt itself, as the command line does. Such a prompt is outside the queue.
  var isOwn = false
  var derivation: PassphraseDerivation?
  var answer: AnyObject?
  var subject = PromptSubject()

  init(question: Question) { self.question = question }

  /// The caller that the program on the screen names; nil while the prompt is not shown.
  private var named: Caller?
  /// The place where the prompt asks; nil until the prompt's program names it.
  var place: PromptPlace?

  /// The caller that the shown prompt names: the first caller that still waits.
  var caller: Caller { named ?? (tickets.first { !$0.hasLeft } ?? tickets.first)?.caller ?? .unknown }

  /// Whether the prompt stays on the screen for the person although the named client has left, because its answer unlocks for all
  /// clients. A prompt on a terminal never stays, because a shell reads from the terminal after the client has left.
  var stays: Bool { question.unlocksForEverybody && !isOwn && !isWaiting && place != .terminal }

  /// Whether the prompt is on the terminal of a client that has left, or names a client for which its answer does not count. An
  /// outdated prompt is shown again for the other clients.
  var isOutdated: Bool {
    guard let named, !stays else { return false }
    return !tickets.contains { !$0.hasLeft && $0.caller == named }
  }

  /// Chooses the caller that the prompt names from now on.
  ///
  /// - Returns: that caller, without a terminal if the caller has left.
  func name() -> Caller {
    let caller = caller
    named = caller
    return tickets.contains { !$0.hasLeft } || isOwn ? caller : caller.withoutTerminal
  }

  var lifting: Set<Int64> { tickets.reduce(into: []) { $0.formUnion($1.lifting) } }

  /// The passphrase that the client gave; nil without one. A prompt with a passphrase has no other client.
  var passphrase: GivenPassphrase? { tickets.first?.passphrase }

  /// The target for which a wrong answer to this prompt counts; nil if the prompt asks for nothing that can be guessed.
  var target: WrongAnswers.Target? {
    question.guessed.map { WrongAnswers.Target(guessed: $0, isBrought: passphrase != nil) }
  }

  /// Whether other clients with the same question may share the prompt.
  var isShared: Bool { !isOwn && passphrase == nil }

  var isShown: Bool { if case .shown = phase { true } else { false } }

  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  /// Whether this is the showing about which the delegate was asked.
  func isChecked(_ number: UInt64) -> Bool { if case .checked = phase { self.number == number } else { false } }

  func isShown(on connection: any PromptConnection) -> Bool {
    if case .shown(let own) = phase { own === connection } else { false }
  }

  /// Takes the prompt off the screen.
  func hide(gone: @escaping () -> Void = {}) {
    let before = phase
    phase = .waiting
    (answer, named, place) = (nil, nil, nil)
    if case .shown(let connection) = before { connection.withdraw(gone: gone) } else { gone() }
  }

  func endTickets(_ end: PromptEnd) {
    let ended = tickets
    tickets = []
    for ticket in ended { ticket.end(end) }
  }
}
