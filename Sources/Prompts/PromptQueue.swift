import Control
import Keybag
import Systemd

/// What the queue needs of its owner.
public protocol PromptQueueDelegate: AnyObject {
  /// Whether a locker is on the screen, so that nobody can be asked.
  var isLockerUp: Bool { get }
  /// Whether there is nothing to ask any more, `lifting` being the collections that the login password should open as
  /// well.
  func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool
  /// Opens what needs nobody's answer.
  func openWithoutAsking(_ question: Question, lifting: Set<Int64>)
  /// What a question is about: the label of a collection or item, for a person, and what the item asks for.
  func subject(of question: Question) -> (label: String, access: AccessControl)
  /// A person answered, and PAM accepted it.
  ///
  /// - Parameters:
  ///   - caller: who was named to the person.
  ///   - answer: what ``PromptQueue/keep(_:prompt:)`` was given for this prompt.
  ///   - access: what the person was shown that the item asks for.
  /// - Returns: whether that counted for anything.
  func accepted(_ question: Question, for caller: Caller, showing access: AccessControl, answer: AnyObject?) -> Bool
  /// A question begins to wait for the person.
  func asked(_ question: Question)
  /// It does not wait any more. Told once for each ``asked(_:)``, but when the daemon ends.
  func ended(_ question: Question, for caller: Caller, _ end: PromptEnd)
  /// A program made use of what a person answered.
  func used(_ question: Question, by caller: Caller)
  /// Starts the program that shows the prompt of this number.
  ///
  /// - Parameter failed: to be called, at once or later, when it could not be started.
  func launchPrompt(_ number: UInt64, failed: @escaping () -> Void)
}

/// The connection on which a prompt's program speaks.
public protocol PromptConnection: AnyObject {
  /// Ends it: the prompt is withdrawn.
  func withdraw()
}

/// Questions to a person, one on the screen at a time. Clients who wait for the same answer share one prompt.
///
/// Nothing here waits: a question ends by an answer, by the person's wish, because nobody could be asked, or by a time
/// limit. While a locker is up, nothing is shown.
public final class PromptQueue {
  private let loop: EventLoop
  private unowned let delegate: any PromptQueueDelegate
  private var prompts: [PendingPrompt] = []
  private var nextNumber = UInt64.random(in: 1...UInt64(UInt32.max))

  /// How long a client waits for a person.
  private static let limit = Duration.seconds(300)
  /// The same while a locker is up: whoever unlocks the screen answers by it.
  private static let limitBehindLocker = Duration.seconds(120)
  /// How often an answer may be wrong.
  private static let wrongAnswerLimit = 5
  /// How long the prompt's program may take until it says that it is there.
  private static let launchLimit = Duration.seconds(10)

  /// An empty queue. `delegate` must live as long.
  public init(loop: EventLoop, delegate: any PromptQueueDelegate) {
    self.loop = loop
    self.delegate = delegate
  }

  // MARK: - clients

  /// Asks.
  ///
  /// - Parameters:
  ///   - lifting: collections that the login password should open although they were locked by themselves.
  ///   - ended: called once, later, however it ends; what is open by then is not said. Not after ``cancel(_:)``.
  ///
  /// What is answered already is asked of nobody: no answer could add anything.
  public func ask(
    _ question: Question, lifting: Set<Int64>, for caller: Caller, ended: @escaping () -> Void
  ) -> PromptTicket {
    let ticket = PromptTicket(lifting: lifting, caller: caller, ended: ended)
    delegate.openWithoutAsking(question, lifting: lifting)
    if delegate.isAnswered(question, lifting: lifting) {
      ticket.timer = try? loop.addTimer(after: .zero) { [weak ticket] in ticket?.end() }
      return ticket
    }
    let limit = delegate.isLockerUp ? PromptQueue.limitBehindLocker : PromptQueue.limit
    ticket.timer = try? loop.addTimer(after: limit) { [weak self, weak ticket] in
      guard let self, let ticket else { return }
      cancel(ticket, .expired)
      ticket.end()
    }
    if let shared = prompts.first(where: { $0.question == question && !$0.isOwn }) {
      shared.tickets.append(ticket)
    } else {
      let prompt = PendingPrompt(question: question)
      prompt.tickets = [ticket]
      prompts.append(prompt)
      delegate.asked(question)
    }
    advance()
    return ticket
  }

  /// The client does not wait any more.
  public func cancel(_ ticket: PromptTicket) { cancel(ticket, .withdrawn) }

  /// A program made use of what a person answered.
  public func used(_ question: Question, by caller: Caller) { delegate.used(question, by: caller) }

  private func cancel(_ ticket: PromptTicket, _ end: PromptEnd) {
    ticket.timer = nil
    guard let prompt = prompts.first(where: { $0.tickets.contains { $0 === ticket } }) else { return }
    let shown = prompt.caller
    prompt.tickets.removeAll { $0 === ticket }
    if prompt.tickets.isEmpty {
      remove(prompt, end, for: shown)
    } else if prompt.caller != shown {
      // It named who is gone, and stands on his terminal, where a shell may read what is typed. It is shown anew.
      prompt.hide()
    }
    advance()
  }

  // MARK: - the session

  /// To be called when keys came or went, or a locker.
  public func stateChanged() {
    for prompt in prompts where !prompt.isOwn {
      let shown = prompt.caller
      // Each by itself: one may have what it waits for while another wants a collection that is locked on top.
      let tickets = prompt.tickets.map { ($0, delegate.isAnswered(prompt.question, lifting: $0.lifting)) }
      prompt.tickets = tickets.filter { !$0.1 }.map(\.0)
      // Taken away first: whoever is told that it ended may ask again at once.
      if prompt.tickets.isEmpty {
        remove(prompt, .outdated, for: shown)
      } else if delegate.isLockerUp || prompt.caller != shown {
        // Nobody sees it, or somebody who is not to be asked, or it names who is gone. It is shown again afterwards.
        prompt.hide()
      }
      for (ticket, isAnswered) in tickets where isAnswered { ticket.end() }
    }
    advance()
  }

  /// Takes every prompt off the screen, as the daemon ends. To be called before the clients hear of it: a shell must not
  /// find its terminal without echo when the program that it waited for is through.
  public func end() {
    for prompt in prompts { prompt.hide() }
  }

  // MARK: - the program that shows it

  /// The collections that an answer to the prompt of this number opens as well; nil when no program shows it.
  public func lifting(prompt number: UInt64) -> Set<Int64>? {
    guard question(ofPrompt: number) == .login else { return nil }
    return prompts.first { $0.number == number }?.lifting
  }

  /// A program is there to show the prompt of this number; nil when there is none that waits for it.
  public func show(_ number: UInt64, on connection: any PromptConnection) -> PromptRequest? {
    guard let prompt = prompts.first(where: { $0.number == number }), case .launched = prompt.phase else { return nil }
    prompt.phase = .shown(connection)
    return request(prompt)
  }

  /// Makes a prompt that its caller shows itself.
  public func open(_ question: Question, on connection: any PromptConnection) -> (
    number: UInt64, request: PromptRequest
  ) {
    let prompt = PendingPrompt(question: question)
    prompt.number = freshNumber()
    prompt.isOwn = true
    prompt.phase = .shown(connection)
    prompts.append(prompt)
    delegate.asked(question)
    return (prompt.number, request(prompt))
  }

  /// The program says that the prompt has ended, or is gone.
  ///
  /// - Parameter outcome: what it said; nil for one that is gone. That PAM accepted what the person gave counts for
  ///   conditions, which are no keys.
  public func ended(on connection: any PromptConnection, _ outcome: PromptOutcome? = nil) {
    guard let prompt = prompts.first(where: { $0.isShown(on: connection) }) else { return }
    let end: PromptEnd =
      switch outcome {
      case .accepted:
        delegate.accepted(prompt.question, for: prompt.caller, showing: prompt.access, answer: prompt.answer)
          ? .granted : .outdated
      case .refused: .refused
      case .dismissed: .dismissed
      case .unavailable: .unavailable
      case nil: .broken
      }
    prompt.phase = .waiting
    remove(prompt, end)
    prompt.endTickets()
    advance()
  }

  /// What the prompt of this number asks, as long as a program shows it.
  public func question(ofPrompt number: UInt64) -> Question? {
    guard let prompt = prompts.first(where: { $0.number == number }), case .shown = prompt.phase else { return nil }
    return prompt.question
  }

  /// How a new passphrase for the prompt of this number becomes a key: the same whenever it is asked.
  public func newDerivation(ofPrompt number: UInt64) -> PassphraseDerivation? {
    guard let prompt = prompts.first(where: { $0.number == number }) else { return nil }
    if prompt.derivation == nil { prompt.derivation = .make() }
    return prompt.derivation
  }

  /// Keeps what an answer gave until its prompt has come to its end, which other steps may still stand before. A prompt that
  /// ends otherwise takes it along.
  public func keep(_ answer: AnyObject, prompt number: UInt64) {
    prompts.first { $0.number == number }?.answer = answer
  }

  /// To be called when keys are erased: forgets all that answers gave, and takes questions about items off the screen, as
  /// what was shown before a lock is not to count after it.
  public func keysErased() {
    for prompt in prompts {
      prompt.answer = nil
      switch prompt.question {
      case .item, .newItemPassphrase:
        remove(prompt, .locked)
        prompt.endTickets()
      case .login, .collection, .newPassphrase, .newBackup, .backup: break
      }
    }
    advance()
  }

  /// A wrong passphrase came for the prompt of this number. Whoever shows it asks three times at most; what tries
  /// more is no person, and the prompt ends.
  public func wasWrong(prompt number: UInt64) {
    guard let prompt = prompts.first(where: { $0.number == number }) else { return }
    prompt.wrongAnswers += 1
    if prompt.wrongAnswers >= PromptQueue.wrongAnswerLimit { giveUp(prompt, .refused) }
  }

  // MARK: - the queue

  private func freshNumber() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  private func request(_ prompt: PendingPrompt) -> PromptRequest {
    let purpose: PromptRequest.Purpose =
      switch prompt.question {
      case .login: .login
      // Of a backup it is shown by whoever asks, who knows what it is about.
      case .collection, .backup: .collection
      case .newPassphrase, .newBackup: .newPassphrase
      case .item: .item
      case .newItemPassphrase: .newItemPassphrase
      }
    let subject = delegate.subject(of: prompt.question)
    prompt.access = subject.access
    return PromptRequest(
      purpose: purpose, label: subject.label, caller: prompt.caller.name, window: prompt.caller.window,
      terminal: prompt.caller.terminal, access: subject.access)
  }

  /// Takes a prompt out of the queue, which nobody waits for any more.
  ///
  /// - Parameter caller: who was named last, where nobody is left.
  private func remove(_ prompt: PendingPrompt, _ end: PromptEnd, for caller: Caller? = nil) {
    prompts.removeAll { $0 === prompt }
    prompt.hide()
    delegate.ended(prompt.question, for: caller ?? prompt.caller, end)
  }

  /// Shows the next one, if none is shown and somebody is there to see it.
  private func advance() {
    guard !delegate.isLockerUp, prompts.allSatisfy({ $0.isOwn || $0.isWaiting }),
      let next = prompts.first(where: { !$0.isOwn })
    else { return }
    let timer = try? loop.addTimer(after: PromptQueue.launchLimit) { [weak self, weak next] in
      guard let self, let next, case .launched = next.phase else { return }
      giveUp(next)
    }
    next.number = freshNumber()
    next.phase = .launched(timer)
    delegate.launchPrompt(next.number) { [weak self, weak next, number = next.number] in
      guard let self, let next, next.number == number, case .launched = next.phase else { return }
      // Not before the caller of ask() has its ticket.
      next.phase = .launched(
        try? loop.addTimer(after: .zero) { [weak self, weak next] in
          guard let self, let next else { return }
          giveUp(next)
        })
    }
  }

  private func giveUp(_ prompt: PendingPrompt, _ end: PromptEnd = .unavailable) {
    remove(prompt, end)
    prompt.endTickets()
    advance()
  }
}

/// One client's place in the queue.
public final class PromptTicket {
  fileprivate let lifting: Set<Int64>
  fileprivate let caller: Caller
  fileprivate var timer: EventSource?
  private var ended: (() -> Void)?

  fileprivate init(lifting: Set<Int64>, caller: Caller, ended: @escaping () -> Void) {
    self.lifting = lifting
    self.caller = caller
    self.ended = ended
  }

  fileprivate func end() {
    timer = nil
    let ended = self.ended
    self.ended = nil
    ended?()
  }
}

/// A question, and how far it is.
private final class PendingPrompt {
  enum Phase {
    case waiting
    /// Its program was started, and has this long to come.
    case launched(EventSource?)
    case shown(any PromptConnection)
  }

  /// Another one each time that it is shown: what was withdrawn must not speak for it. 0 until then.
  var number: UInt64 = 0
  let question: Question
  var tickets: [PromptTicket] = []
  var phase = Phase.waiting
  /// Whether who asked shows it as well, as the command line does: then it stands beside the queue.
  var isOwn = false
  var derivation: PassphraseDerivation?
  var answer: AnyObject?
  var access = AccessControl.none
  var wrongAnswers = 0

  init(question: Question) { self.question = question }

  /// Who is named to the person: of those that wait, the one who asked first.
  var caller: Caller { tickets.first?.caller ?? .unknown }

  var lifting: Set<Int64> { tickets.reduce(into: []) { $0.formUnion($1.lifting) } }

  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  func isShown(on connection: any PromptConnection) -> Bool {
    if case .shown(let own) = phase { own === connection } else { false }
  }

  /// Takes it off the screen.
  func hide() {
    let before = phase
    phase = .waiting
    answer = nil
    if case .shown(let connection) = before { connection.withdraw() }
  }

  func endTickets() {
    let ended = tickets
    tickets = []
    for ticket in ended { ticket.end() }
  }
}
