import LatchkeyControl
import LatchkeyKeybag
import LatchkeySystemd

/// A question, and how far it is.
final class PendingPrompt {
  enum Phase {
    case waiting
    /// It is asked whether it is to be shown, or its answer to count.
    case checked
    /// Its program was started, and has this long to come.
    case launched(EventSource?)
    case shown(any PromptConnection)
  }

  /// Another one each time that it is shown, so that a withdrawn prompt's program cannot speak for it. 0 until then.
  var number: UInt64 = 0
  let question: Question
  var tickets: [PromptTicket] = []
  var phase = Phase.waiting
  /// Whether who asked shows it as well, as the command line does: then it stands beside the queue.
  var isOwn = false
  var derivation: PassphraseDerivation?
  var answer: AnyObject?
  var subject = PromptSubject()

  init(question: Question) { self.question = question }

  /// The caller that the program on the screen names; nil while the prompt is not shown.
  private var named: Caller?
  /// Where it asks; nil until its program says so.
  var place: PromptPlace?

  /// The caller that the prompt names: the first of those that still wait, when it is shown.
  var caller: Caller { named ?? (tickets.first { !$0.hasLeft } ?? tickets.first)?.caller ?? .unknown }

  /// Whether it stays on the screen for the person although the client that it names is gone. Its answer unlocks for everybody.
  /// Not on a terminal: a shell reads there once the client is gone.
  var stays: Bool { question.unlocksForEverybody && !isOwn && !isWaiting && place != .terminal }

  /// Whether it stands on the terminal of a client that is gone, or names one for which its answer does not count, so that it
  /// is to be shown anew for those who wait.
  var isOutdated: Bool {
    guard let named, !stays else { return false }
    return !tickets.contains { !$0.hasLeft && $0.caller == named }
  }

  /// Chooses the caller that it names from now on.
  ///
  /// - Returns: that caller, without a terminal if it has left.
  func name() -> Caller {
    let caller = caller
    named = caller
    return tickets.contains { !$0.hasLeft } || isOwn ? caller : caller.withoutTerminal
  }

  var lifting: Set<Int64> { tickets.reduce(into: []) { $0.formUnion($1.lifting) } }

  /// The passphrase that its client gave: such a one has no other client.
  var passphrase: GivenPassphrase? { tickets.first?.passphrase }

  /// The target whose wrong answers count together with its own; nil if nothing can be guessed.
  var target: WrongAnswers.Target? {
    question.guessed.map { WrongAnswers.Target(guessed: $0, isBrought: passphrase != nil) }
  }

  /// Whether others who ask the same may wait for it as well.
  var isShared: Bool { !isOwn && passphrase == nil }

  var isShown: Bool { if case .shown = phase { true } else { false } }

  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  /// Whether it is this one of its showings of which is asked whether it stands.
  func isChecked(_ number: UInt64) -> Bool { if case .checked = phase { self.number == number } else { false } }

  func isShown(on connection: any PromptConnection) -> Bool {
    if case .shown(let own) = phase { own === connection } else { false }
  }

  /// Takes it off the screen.
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
