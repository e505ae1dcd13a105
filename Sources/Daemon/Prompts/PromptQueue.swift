import LatchkeyControl
import LatchkeyKeybag
import LatchkeySystemd

/// The queue's view of its owner.
public protocol PromptQueueDelegate: AnyObject {
  /// Whether a locker covers the screen, so that nobody can be asked.
  var isLockerUp: Bool { get }
  /// Whether nothing is left to ask. `lifting` are the collections that the login password should open as well.
  func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool
  /// Opens everything that needs no answer.
  func openWithoutAsking(_ question: Question, lifting: Set<Int64>)
  /// Describes the subject of a question.
  func subject(of question: Question) -> PromptSubject
  /// Checks whether a question must still be asked, or whether a person's answer counts. It is called before each prompt is shown,
  /// and after PAM accepted the answer. The result comes later if it depends on something outside the vault.
  ///
  /// - Parameter then: gets the end of a question that must not be asked; nil if it must be.
  func check(_ question: Question, then: @escaping (PromptEnd?) -> Void)
  /// A person answered, and PAM accepted the answer.
  ///
  /// - Parameters:
  ///   - caller: the program that was named to the person.
  ///   - answer: the argument of ``PromptQueue/keep(_:prompt:)`` for this prompt.
  ///   - subject: the subject that the prompt showed.
  /// - Returns: whether the answer counted.
  func accepted(_ question: Question, for caller: Caller, showing subject: PromptSubject, answer: AnyObject?) -> Bool
  /// A question begins to wait for the person.
  func asked(_ question: Question)
  /// A question does not wait any more. Called once for each ``asked(_:)``, except at the daemon's end.
  func ended(_ question: Question, for caller: Caller, _ end: PromptEnd)
  /// A program made use of a person's answer.
  func used(_ question: Question, by caller: Caller)
  /// Starts the program that shows the prompt of this number.
  ///
  /// - Parameter failed: call this, at once or later, if the program could not be started.
  func launchPrompt(_ number: UInt64, failed: @escaping () -> Void)
}

/// The connection on which a prompt's program speaks.
public protocol PromptConnection: AnyObject {
  /// Ends the connection, which withdraws the prompt.
  ///
  /// - Parameter gone: called once, at once or later: after the prompt's program has left the screen and restored the terminal, or
  ///   after a time limit.
  func withdraw(gone: @escaping () -> Void)
}

/// Questions to a person, one on the screen at a time. Clients who wait for the same answer share one prompt.
///
/// No call here waits. A question ends by an answer, by the person's wish, by a time limit, or because nobody could be asked. While
/// a locker is up, nothing is shown.
public final class PromptQueue {
  private let loop: EventLoop
  private unowned let delegate: any PromptQueueDelegate
  private var prompts: [PendingPrompt] = []
  private var numbers = FreshNumbers()
  private let now: () -> ContinuousClock.Instant
  private var wrongAnswers = WrongAnswers()
  /// While this exists, nothing is shown.
  private var quiet: EventSource?
  /// Whether the daemon is about to end.
  private var isEnding = false

  /// The most questions that may wait.
  static let waitingLimit = 256
  /// The time for which a client waits for a person.
  private static let limit = Duration.seconds(300)
  /// The time for which a client waits while a locker covers the screen. An unlock of the screen answers the question.
  private static let limitBehindLocker = Duration.seconds(120)
  /// The time for which nothing is shown after a prompt was removed from the screen, which clients can cause. A person who is
  /// typing must see that the next prompt is another question.
  private static let quietTime = Duration.seconds(2)
  /// The time in which the prompt's program must connect.
  private static let launchLimit = Duration.seconds(10)
  /// The time for which a prompt stays without its client, if its program does not say where it asks. Such a program hangs before
  /// anybody sees a question, and other prompts wait for the screen.
  private let placeLimit: Duration

  /// An empty queue. `delegate` must live as long.
  public init(
    loop: EventLoop, delegate: any PromptQueueDelegate, placeLimit: Duration = .seconds(30),
    now: @escaping () -> ContinuousClock.Instant = { .now }
  ) {
    self.placeLimit = placeLimit
    self.loop = loop
    self.delegate = delegate
    self.now = now
  }

  // MARK: - clients

  /// Asks.
  ///
  /// - Parameters:
  ///   - lifting: collections that the login password should open although they were locked by themselves.
  ///   - passphrase: an item's passphrase that the client gave; the queue keeps it for as long as the question waits.
  ///   - ended: called once, later, for each way in which the question can end. The call does not say what is unlocked by then. It
  ///     is not called after ``cancel(_:)``.
  ///
  /// A question that is answered already ends at once, without a prompt. A question that comes while too many wait, or after too
  /// many wrong answers, ends in the same way.
  public func ask(
    _ question: Question, lifting: Set<Int64>, for caller: Caller, passphrase: GivenPassphrase? = nil,
    ended: @escaping () -> Void
  ) -> PromptTicket {
    let ticket = PromptTicket(lifting: lifting, caller: caller, passphrase: passphrase, ended: ended)
    delegate.openWithoutAsking(question, lifting: lifting)
    // A passphrase from one client must not answer a question of another client.
    let shared = passphrase == nil ? prompts.first { $0.isShared && $0.question == question } : nil
    let isBrought = passphrase != nil
    if let end = endWithoutAsking(question, lifting: lifting, isBrought: isBrought, joins: shared != nil) {
      ticket.timer = try? loop.addTimer(after: .zero) { [weak ticket] in ticket?.end(end) }
      return ticket
    }
    let limit = delegate.isLockerUp ? PromptQueue.limitBehindLocker : PromptQueue.limit
    ticket.timer = try? loop.addTimer(after: limit) { [weak self, weak ticket] in
      guard let self, let ticket else { return }
      let ended = ticket.takeEnd(.expired)
      withdraw(ticket, .expired, isLeaving: true) { ended?() }
      advance()
    }
    if let shared {
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

  /// Keeps the place of a client that has left, until `limit` has passed.
  private func stay(_ ticket: PromptTicket, for limit: Duration) {
    ticket.timer = try? loop.addTimer(after: limit) { [weak self, weak ticket] in
      guard let self, let ticket else { return }
      withdraw(ticket, .expired)
      advance()
    }
  }

  /// The end of a question that is not asked at all; nil for a question that waits.
  ///
  /// - Parameter joins: whether the question can share a waiting prompt. Such a question adds no prompt.
  private func endWithoutAsking(
    _ question: Question, lifting: Set<Int64>, isBrought: Bool, joins: Bool
  ) -> PromptEnd? {
    if delegate.isAnswered(question, lifting: lifting) { return .outdated }
    if isPaused(question, isBrought: isBrought) { return .refused }
    return joins || prompts.count < PromptQueue.waitingLimit ? nil : .unavailable
  }

  /// Whether too many wrong answers came for the same target, so that no question is asked now.
  ///
  /// - Parameter isBrought: whether a program has the answer.
  public func isPaused(_ question: Question, isBrought: Bool = false) -> Bool {
    question.guessed.map { wrongAnswers.isPaused(.init(guessed: $0, isBrought: isBrought), at: now()) } ?? false
  }

  /// Removes these tickets, because nobody waits for them any more. No other prompt is shown before all are removed.
  public func cancel(_ tickets: [PromptTicket]) {
    for ticket in tickets { withdraw(ticket) }
    advance()
  }

  /// The client of these tickets has left, or waits no longer. If a prompt's answer unlocks for all clients, the prompt stays on
  /// the screen. The person may be typing, and the rest of the password would go to another window. A later client with the same
  /// question joins it.
  public func leave(_ tickets: [PromptTicket]) {
    for ticket in tickets { withdraw(ticket, isLeaving: true) }
    advance()
  }

  /// The client does not wait any more.
  ///
  /// - Parameter gone: called once, at once or later: after the prompt has left the screen. A client that is told earlier ends, and
  ///   a shell gets its terminal. The end of the prompt's screen would then remove the shell's output.
  public func cancel(_ ticket: PromptTicket, gone: @escaping () -> Void = {}) {
    withdraw(ticket, gone: gone)
    advance()
  }

  /// A program made use of a person's answer.
  public func used(_ question: Question, by caller: Caller) { delegate.used(question, by: caller) }

  /// - Parameter isLeaving: whether a prompt may stay for the person.
  private func withdraw(
    _ ticket: PromptTicket, _ end: PromptEnd = .withdrawn, isLeaving: Bool = false, gone: @escaping () -> Void = {}
  ) {
    let mayStay = isLeaving && !ticket.hasLeft
    ticket.forget()
    guard let prompt = prompts.first(where: { $0.tickets.contains { $0 === ticket } }) else { return gone() }
    if mayStay && prompt.stays {
      ticket.hasLeft = true
      stay(ticket, for: prompt.place == nil ? placeLimit : PromptQueue.limit)
      return gone()
    }
    let shown = prompt.caller
    prompt.tickets.removeAll { $0 === ticket }
    if prompt.tickets.isEmpty {
      remove(prompt, end, for: shown, gone: gone)
    } else if prompt.isOutdated {
      hide(prompt, gone: gone)
    } else {
      gone()
    }
  }

  // MARK: - the session

  /// Call this when the vault got or lost keys, and when a locker came or went.
  public func stateChanged() {
    for prompt in prompts where !prompt.isOwn {
      let shown = prompt.caller
      // Each ticket is checked separately, because one may be satisfied while another also needs a locked collection.
      let tickets = prompt.tickets.map { ($0, delegate.isAnswered(prompt.question, lifting: $0.lifting)) }
      prompt.tickets = tickets.filter { !$0.1 }.map(\.0)
      // A prompt that has left the screen does not come back for a client that has left.
      if delegate.isLockerUp { prompt.tickets.removeAll(where: \.hasLeft) }
      // The client is told after the prompt has left the screen. If it were told earlier, its program could end, and a shell would
      // get the terminal without echo.
      let tell = { for (ticket, isAnswered) in tickets where isAnswered { ticket.end(.outdated) } }
      // The prompt is removed first, because a client that hears of its end may ask again at once.
      if prompt.tickets.isEmpty {
        remove(prompt, tickets.contains(where: \.1) ? .outdated : .withdrawn, for: shown, gone: tell)
      } else if delegate.isLockerUp || prompt.isOutdated {
        // The prompt is invisible, or the wrong person sees it, or the prompt's client has left. The queue shows it again later.
        prompt.hide(gone: tell)
      } else {
        tell()
      }
    }
    advance()
  }

  /// Removes every prompt from the screen, because the daemon ends, and shows no prompt from then on.
  ///
  /// - Parameter gone: called once, at once or later: after all prompts have left the screen. The clients hear of the end only
  ///   then, because if a client's program ended earlier, a shell could get its terminal without echo.
  public func end(gone: @escaping () -> Void) {
    isEnding = true
    var left = 1
    let hasLeft = {
      left -= 1
      if left == 0 { gone() }
    }
    for prompt in prompts {
      // No client waits for a prompt that a command shows by itself.
      if prompt.isOwn {
        prompt.hide()
      } else {
        left += 1
        prompt.hide(gone: hasLeft)
      }
    }
    hasLeft()
  }

  // MARK: - the program that shows it

  /// The collections that an answer to the prompt of this number also opens; nil if no program shows it.
  public func lifting(prompt number: UInt64) -> Set<Int64>? {
    guard question(ofPrompt: number) == .login else { return nil }
    return prompts.first { $0.number == number }?.lifting
  }

  /// Hands the prompt of this number to the program that shows it; nil if no such prompt waits.
  public func show(_ number: UInt64, on connection: any PromptConnection) -> PromptRequest? {
    guard let prompt = prompts.first(where: { $0.number == number }), case .launched = prompt.phase else { return nil }
    prompt.phase = .shown(connection)
    return request(prompt)
  }

  /// Notes the place that the prompt's program names.
  public func place(_ place: PromptPlace, on connection: any PromptConnection) {
    guard let prompt = prompts.first(where: { $0.isShown(on: connection) }) else { return }
    prompt.place = place
    guard !prompt.isOwn else { return }
    guard !prompt.stays else {
      for ticket in prompt.tickets where ticket.hasLeft { stay(ticket, for: PromptQueue.limit) }
      return
    }
    let shown = prompt.caller
    prompt.tickets.removeAll(where: \.hasLeft)
    if prompt.tickets.isEmpty { remove(prompt, .withdrawn, for: shown) } else if prompt.isOutdated { hide(prompt) }
    advance()
  }

  /// Makes a prompt that the caller shows itself.
  public func open(_ question: Question, on connection: any PromptConnection) -> (
    number: UInt64, request: PromptRequest
  ) {
    let prompt = PendingPrompt(question: question)
    prompt.number = numbers.take()
    prompt.isOwn = true
    prompt.phase = .shown(connection)
    prompts.append(prompt)
    delegate.asked(question)
    return (prompt.number, request(prompt))
  }

  /// The prompt's program says that the prompt has ended, or the program itself has ended.
  ///
  /// - Parameter end: the end that the prompt's program reported; nil if the program ended without a report. PAM's acceptance
  ///   counts for conditions only, not for keys.
  public func ended(on connection: any PromptConnection, _ end: PromptEnd? = nil) {
    guard let prompt = prompts.first(where: { $0.isShown(on: connection) }) else { return }
    // The prompt is no longer on the screen, so it need not be hidden.
    prompt.phase = .checked
    guard end == .granted else { return giveUp(prompt, end ?? .broken) }
    delegate.check(prompt.question) { [weak self, weak prompt, number = prompt.number] end in
      // After a lock, or with a new prompt for the same question, the result of the check does not count.
      guard let self, let prompt, prompt.isChecked(number) else { return }
      if let end { return giveUp(prompt, end) }
      let counts = delegate.accepted(
        prompt.question, for: prompt.caller, showing: prompt.subject, answer: prompt.answer)
      giveUp(prompt, counts ? .granted : .outdated)
    }
  }

  /// The question of the prompt of this number, while a program shows it.
  public func question(ofPrompt number: UInt64) -> Question? {
    guard let prompt = prompts.first(where: { $0.number == number }), case .shown = prompt.phase else { return nil }
    return prompt.question
  }

  /// The connection that shows the prompt of this number; nil while none does.
  public func connection(ofPrompt number: UInt64) -> (any PromptConnection)? {
    guard let prompt = prompts.first(where: { $0.number == number }), case .shown(let connection) = prompt.phase else {
      return nil
    }
    return connection
  }

  /// Whether the prompt of this number is on a terminal at another machine, where nobody can touch a reader of this machine.
  public func isAway(prompt number: UInt64) -> Bool {
    guard let prompt = prompts.first(where: { $0.number == number }), prompt.isShown else { return false }
    return prompt.place == .terminal && prompt.caller.isAway
  }

  /// The passphrase that a program gave for the prompt which a connection shows.
  public func passphrase(on connection: any PromptConnection) -> GivenPassphrase? {
    prompts.first { $0.isShown(on: connection) }?.passphrase
  }

  /// The way in which a new passphrase for the prompt of this number becomes a key. Every call gives the same answer.
  public func newDerivation(ofPrompt number: UInt64) -> PassphraseDerivation? {
    guard let prompt = prompts.first(where: { $0.number == number }) else { return nil }
    if prompt.derivation == nil { prompt.derivation = .make() }
    return prompt.derivation
  }

  /// Keeps the result of an answer until the prompt has ended, because other steps may follow. If the prompt ends without success,
  /// the result is dropped.
  public func keep(_ answer: AnyObject, prompt number: UInt64) {
    prompts.first { $0.number == number }?.answer = answer
  }

  /// Call this at a lock. It forgets the answers for the locked items, and removes the questions about them from the screen,
  /// because a prompt from before a lock must not count after it.
  public func locked(where isLocked: (Int64) -> Bool) {
    let ended = prompts.filter { prompt in
      switch prompt.question {
      case .item(let id, _), .itemAccess(let id, _, _): isLocked(id)
      case .login, .loginAdvice, .collection, .newPassphrase, .newItemPassphrase, .newBackup, .backup: false
      }
    }
    for prompt in ended { remove(prompt, .locked) }
    for prompt in ended { prompt.endTickets(.locked) }
    advance()
  }

  /// Notes a right passphrase for the prompt of this number.
  public func wasRight(prompt number: UInt64) {
    if let target = prompts.first(where: { $0.number == number })?.target { wrongAnswers.forget(target) }
  }

  /// Notes a wrong passphrase for the prompt of this number. After some wrong answers, all prompts for the same subject end, and
  /// nobody is asked for a while, because a program may be guessing.
  public func wasWrong(prompt number: UInt64) {
    guard let prompt = prompts.first(where: { $0.number == number }), let target = prompt.target else { return }
    guard wrongAnswers.add(target, at: now()) else { return }
    Journal.log(.warning, "after too many wrong passphrases, prompts for that one pause for a while")
    let ended = prompts.filter { $0.target == target }
    // The client is told after the prompt has left the screen. Otherwise the prompt's last message would come after a shell's next
    // line.
    for prompt in ended { remove(prompt, .refused, for: prompt.caller) { prompt.endTickets(.refused) } }
    advance()
  }

  // MARK: - the queue

  private func request(_ prompt: PendingPrompt) -> PromptRequest {
    let subject = delegate.subject(of: prompt.question)
    prompt.subject = subject
    let caller = prompt.name()
    let purpose: PromptRequest.Purpose =
      switch prompt.question {
      case .login: subject.createsVault ? .newVault : .login
      case .loginAdvice: .loginAdvice
      // The command that asks for a backup's passphrase shows the prompt itself, so no other program learns of it.
      case .collection, .backup: .collection
      case .newPassphrase, .newBackup: .newPassphrase
      case .item: .item
      case .itemAccess: .itemAccess
      case .newItemPassphrase: .newItemPassphrase
      }
    return PromptRequest(
      purpose: purpose, label: subject.label, caller: caller.name, window: caller.window,
      terminal: caller.terminal, access: subject.access, reuse: subject.reuse, change: subject.change,
      reason: caller.reason, interpreter: caller.interpreter,
      hasPassphrase: prompt.passphrase != nil && (subject.access.needsPassphrase || purpose == .newItemPassphrase),
      isAway: caller.isAway)
  }

  /// Removes a prompt that nobody waits for any more from the queue.
  ///
  /// - Parameter caller: the program that the prompt named last, if no client is left.
  private func remove(
    _ prompt: PendingPrompt, _ end: PromptEnd, for caller: Caller? = nil, gone: @escaping () -> Void = {}
  ) {
    guard prompts.contains(where: { $0 === prompt }) else { return gone() }
    prompts.removeAll { $0 === prompt }
    hide(prompt, gone: gone)
    delegate.ended(prompt.question, for: caller ?? prompt.caller, end)
  }

  /// Removes an unfinished prompt from the screen, and keeps the screen empty for a moment.
  private func hide(_ prompt: PendingPrompt, gone: @escaping () -> Void = {}) {
    if prompt.isShown && !prompt.isOwn {
      quiet = try? loop.addTimer(after: PromptQueue.quietTime) { [weak self] in
        self?.quiet = nil
        self?.advance()
      }
    }
    prompt.hide(gone: gone)
  }

  /// Shows the next prompt, if no other prompt is shown and somebody can see it.
  private func advance() {
    guard !isEnding, quiet == nil, !delegate.isLockerUp, prompts.allSatisfy({ $0.isOwn || $0.isWaiting }), let next
    else { return }
    next.number = numbers.take()
    next.phase = .checked
    delegate.check(next.question) { [weak self, weak next, number = next.number] end in
      guard let self, let next, next.isChecked(number) else { return }
      if let end { giveUpLater(next, end) } else { launch(next) }
    }
  }

  /// The prompt that has waited longest.
  private var next: PendingPrompt? { prompts.first { !$0.isOwn } }

  private func launch(_ prompt: PendingPrompt) {
    let timer = try? loop.addTimer(after: PromptQueue.launchLimit) { [weak self, weak prompt] in
      guard let self, let prompt, case .launched = prompt.phase else { return }
      giveUp(prompt)
    }
    prompt.phase = .launched(timer)
    delegate.launchPrompt(prompt.number) { [weak self, weak prompt, number = prompt.number] in
      guard let self, let prompt, prompt.number == number, case .launched = prompt.phase else { return }
      giveUpLater(prompt)
    }
  }

  /// Called only after the caller of ask() has its ticket.
  private func giveUpLater(_ prompt: PendingPrompt, _ end: PromptEnd = .unavailable) {
    prompt.phase = .launched(
      try? loop.addTimer(after: .zero) { [weak self, weak prompt] in
        guard let self, let prompt else { return }
        giveUp(prompt, end)
      })
  }

  private func giveUp(_ prompt: PendingPrompt, _ end: PromptEnd = .unavailable) {
    remove(prompt, end)
    prompt.endTickets(end)
    advance()
  }
}
