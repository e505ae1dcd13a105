import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// Something that a person would have to be asked for, as its client sees it. It belongs to the client that caused it,
/// is asked once, and is gone when it is completed.
final class Prompt {
  /// What is wanted.
  enum Purpose {
    /// These paths, as the client named them.
    case unlock([String])
    /// An item that waits for a passphrase.
    case store(WaitingItem)
    /// An item that is to ask for something else.
    case change(AccessChange)
    /// A collection, before there is a vault.
    case create(WaitingCollection)
    /// Another passphrase for the collection of this number.
    case password(Int64)
  }

  /// How far it is.
  enum Phase {
    /// Its client has not asked yet.
    case new
    /// It was asked for, at this moment.
    case asked(at: ContinuousClock.Instant)
    /// The signal is on its way.
    case completing(EventSource?)
  }

  let path: String
  let number: UInt64
  /// The unique bus name of its client.
  let owner: String
  let purpose: Purpose
  var phase = Phase.new
  var isNew: Bool { if case .new = phase { true } else { false } }
  /// Its place in the queue, while a person is asked.
  var ticket: PromptTicket?
  /// Ends it where its client never asks, and what waits should not wait for long.
  var unusedEnd: EventSource?
  /// The item that waits for a passphrase, where it is one.
  var item: WaitingItem? { if case .store(let item) = purpose { item } else { nil } }
  /// The collection of what waits in it; nil for nothing.
  var collection: Int64? {
    let place: CollectionPlace
    switch purpose {
    case .unlock, .create, .password: return nil
    case .store(let item): place = item.new.collection
    case .change(let change): place = change.item.collection
    }
    return if case .vault(let id) = place { id } else { nil }
  }
  /// Whether something waits in it that no lock may outlast.
  var endsAtLock: Bool {
    switch purpose {
    case .unlock, .create, .password: false
    case .store, .change: true
    }
  }
  /// Whether something waits in it that is about this item of the vault, and that no lock of the item may outlast.
  func waits(forItem id: Int64) -> Bool {
    switch purpose {
    case .unlock, .create, .password: return false
    case .store(let item): return item.granted?.item == id
    case .change(let change):
      guard case .vault = change.item.collection else { return false }
      return change.item.id == id
    }
  }
  /// What was asked already. What was asked in vain is not asked again.
  var asked: Set<Question> = []
  /// The passphrase of the item, which its client gave; until it is completed.
  var given: GivenPassphrase?
  /// Whether its client is told how it ended.
  var tellsOutcome = false
  /// How the last question ended, or what took the prompt away.
  var lastEnd: PromptEnd?

  init(path: String, number: UInt64, owner: String, purpose: Purpose) {
    self.path = path
    self.number = number
    self.owner = owner
    self.purpose = purpose
  }
}

/// The interface `org.freedesktop.Secret.Prompt`.
extension SecretService {
  var promptInterface: ObjectInterface {
    ObjectInterface(
      Self.promptName,
      methods: [
        .init("Prompt", input: [.init("s", "window_id")], handler: performPrompt),
        .init("Dismiss", handler: dismissPrompt),
      ],
      signals: [.init("Completed", [.init("b", "dismissed"), .init("v", "result")])])
  }

  /// Some clients listen for the end of a prompt only after their call has returned.
  private static let shortestPrompt = Duration.milliseconds(80)

  /// How long what waits in a prompt is kept for a client that does not ask.
  private static let unusedTime = Duration.seconds(60)

  /// The most characters that are kept of a client's window and of its reason; fewer are shown.
  private static let textLimit = 255

  /// How many prompts one client may have; with one more the oldest goes.
  private static let promptLimit = 256

  /// - Parameter purpose: what is wanted, with the prompt's number in its own questions.
  func makePrompt(for client: String, _ purpose: (UInt64) -> Prompt.Purpose) -> Prompt {
    let own = prompts.values.filter { $0.owner == client }
    if own.count >= Self.promptLimit, let oldest = own.min(by: { $0.number < $1.number }) {
      prompts[oldest.path] = nil
      drop(oldest, telling: true)
    }
    let (number, path) = freshPath(below: ObjectPath.prompts)
    let prompt = Prompt(path: path, number: number, owner: client, purpose: purpose(number))
    prompts[prompt.path] = prompt
    watch(client)
    if prompt.endsAtLock {
      prompt.unusedEnd = try? loop.addTimer(after: Self.unusedTime) { [weak self, weak prompt] in
        if let prompt, case .new = prompt.phase { self?.end(prompt) }
      }
    }
    return prompt
  }

  /// Ends what belongs to a prompt that is not in the list any more.
  func drop(_ prompt: Prompt, telling: Bool) {
    if let ticket = prompt.ticket { promptQueue.cancel(ticket) }
    (prompt.ticket, prompt.given) = (nil, nil)
    if telling, case .new = prompt.phase { return }
    prompt.lastEnd = .withdrawn
    if telling { signalCompleted(prompt, dismissed: true) }
  }

  /// Takes a prompt away, whatever it waits for; its client hears that it was dismissed.
  func end(_ prompt: Prompt) {
    guard prompts.removeValue(forKey: prompt.path) != nil else { return }
    drop(prompt, telling: true)
  }

  /// Takes every prompt away: there is no vault that an answer could open.
  public func endPrompts() {
    for prompt in Array(prompts.values) { end(prompt) }
  }

  /// Tells all who wait that nobody is asked any more, as the program ends: libsecret waits for ever for a prompt whose
  /// service only vanishes.
  public func dismissPrompts() {
    for prompt in prompts.values {
      if case .new = prompt.phase { continue }
      prompt.lastEnd = .withdrawn
      signalCompleted(prompt, dismissed: true)
    }
  }

  func ownPrompt(_ call: MethodCall) throws(BusError) -> Prompt {
    guard let prompt = prompts[call.path] else { throw .noSuchObject(call.path) }
    guard prompt.owner == call.sender else { throw .accessDenied("that prompt is not yours") }
    return prompt
  }

  private func performPrompt(_ call: MethodCall) throws(BusError) {
    let prompt = try newPrompt(call)
    perform(prompt, window: try call.message.readString(), reason: "")
    call.reply()
  }

  /// The caller's prompt, which was not asked for yet.
  func newPrompt(_ call: MethodCall) throws(BusError) -> Prompt {
    let prompt = try ownPrompt(call)
    guard case .new = prompt.phase else { throw .alreadyExists("that prompt is being answered already") }
    return prompt
  }

  /// Asks.
  ///
  /// - Parameter reason: what its client says that it wants it for.
  func perform(_ prompt: Prompt, window: String, reason: String) {
    prompt.phase = .asked(at: .now)
    let (window, reason) = (Self.shortened(window), Self.shortened(reason))
    // Who asks is for the person to read: without it, the question is asked all the same.
    do throws(BusError) {
      try bus.peerCredentials(of: prompt.owner) { [weak self] credentials in
        var caller = Caller.unknown
        if case .success(let found) = credentials, let pid = found.pid {
          caller = Caller(pid: pid, pidfd: found.process?.number)
        }
        caller.window = window
        caller.reason = reason
        self?.advance(prompt, for: caller)
      }
    } catch { advance(prompt, for: .unknown) }
  }

  /// The start of a client's text: the prompt keeps it for as long as the person thinks.
  private static func shortened(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(textLimit)))
  }

  private func dismissPrompt(_ call: MethodCall) throws(BusError) {
    let prompt = try ownPrompt(call)
    call.reply()
    if case .completing = prompt.phase { return }
    if case .new = prompt.phase { prompt.phase = .asked(at: .now) }
    prompt.lastEnd = .withdrawn
    guard let ticket = prompt.ticket else { return complete(prompt, dismissed: true) }
    prompt.ticket = nil
    promptQueue.cancel(ticket) { [weak self, weak prompt] in
      if let prompt { self?.complete(prompt, dismissed: true) }
    }
  }

  /// Asks the next question that stands between the client and what it wants, or completes the prompt.
  private func advance(_ prompt: Prompt, for caller: Caller) {
    guard prompts[prompt.path] === prompt, case .asked = prompt.phase else { return }
    prompt.lastEnd = prompt.ticket?.end ?? prompt.lastEnd
    prompt.ticket = nil
    let wanted: [String]
    switch prompt.purpose {
    case .unlock(let paths): wanted = paths
    case .create(let collection):
      let next = make(collection)
      return ask(next, prompt, for: caller, otherwise: collection.made == nil)
    case .password(let id):
      if hasChangedPassword(of: id, prompt) { return complete(prompt, dismissed: false) }
      let next = question(toChangePasswordOf: id, for: prompt)
      return ask(next?.question, prompt, for: caller, lifting: next?.lifting ?? [], otherwise: true)
    case .store(let item):
      return ask(item.stored == nil ? item.question : nil, prompt, for: caller, otherwise: item.stored == nil)
    case .change(let change):
      if !change.isDone && change.nextQuestion == nil {
        do throws(BusError) { try apply(change, passphrase: nil) } catch {
          Journal.log(.warning, "what an item asks for was not changed: \(error.message)")
        }
      }
      return ask(change.nextQuestion, prompt, for: caller, otherwise: !change.isDone)
    }
    var lifting: Set<Int64> = []
    var questions: [Question] = []
    for path in wanted where (try? lockState(path, for: prompt.owner)) == .closed {
      guard let (question, marked) = question(for: path, of: prompt.owner) else { continue }
      questions.append(question)
      if let marked { lifting.insert(marked) }
    }
    ask(questions.first, prompt, for: caller, lifting: lifting, otherwise: false)
  }

  /// Asks the next question. Where there is none, or it was asked in vain, the prompt is complete.
  private func ask(
    _ next: Question?, _ prompt: Prompt, for caller: Caller, lifting: Set<Int64> = [], otherwise isDismissed: Bool
  ) {
    guard let next else { return complete(prompt, dismissed: isDismissed) }
    guard prompt.asked.insert(next).inserted else { return complete(prompt, dismissed: true) }
    let passphrase = passphrase(for: next, of: prompt)
    prompt.ticket = promptQueue.ask(next, lifting: lifting, for: caller, passphrase: passphrase) {
      [weak self, weak prompt] in
      guard let self, let prompt else { return }
      advance(prompt, for: caller)
    }
  }

  /// What a person would have to be asked so that a path opens, and the collection whose own lock the login password
  /// lifts; nil where no answer would help.
  private func question(for path: String, of client: String) -> (question: Question, lifting: Int64?)? {
    let place: CollectionPlace?
    var item: Int64?
    switch ObjectPath(path) {
    case .collection(let name): place = try? tree.place(name)
    case .item(let name, let id):
      place = try? tree.place(name)
      item = id
    case .other: return nil
    }
    if place == CollectionTree.firstPlace && vault.hasNoDatabaseYet {
      return vault.awaitsPassword ? (.login, nil) : nil
    }
    guard case .vault(let id) = place, let state = try? vault.state(of: id) else { return nil }
    let isLockedByItself = item.map(vault.reader.isLockedByItself) ?? vault.hasLockedItems(in: id)
    return switch state {
    case .lockedExplicitly: (.login, id)
    case .sealed, .locked: (.login, isLockedByItself ? id : nil)
    case .unlocked where isLockedByItself: (.login, id)
    case .needsPassphrase: (.collection(id), nil)
    case .unlocked:
      // An item that is not readable although everything is: one that asks for something, another device's, or one that is
      // not trusted.
      if let item {
        (try? vault.reader.readability(ofItem: item)) == .guarded ? (.item(item, client: client), nil) : nil
      } else {
        (.login, nil)
      }
    }
  }

  private func complete(_ prompt: Prompt, dismissed: Bool) {
    if let ticket = prompt.ticket { promptQueue.cancel(ticket) }
    (prompt.ticket, prompt.given) = (nil, nil)
    guard case .asked(let moment) = prompt.phase else { return }
    let left = Self.shortestPrompt - (ContinuousClock.now - moment)
    let timer =
      left <= .zero
      ? nil
      : try? loop.addTimer(after: left) { [weak self, weak prompt] in
        if let prompt { self?.finish(prompt, dismissed: dismissed) }
      }
    prompt.phase = .completing(timer)
    if timer == nil { finish(prompt, dismissed: dismissed) }
  }

  private func finish(_ prompt: Prompt, dismissed: Bool) {
    guard prompts.removeValue(forKey: prompt.path) != nil else { return }
    signalCompleted(prompt, dismissed: dismissed)
  }

  private func signalCompleted(_ prompt: Prompt, dismissed: Bool) {
    switch prompt.purpose {
    case .unlock(let wanted):
      // What was opened by other means counts as well.
      let open = wanted.filter { (try? lockState($0, for: prompt.owner)) == .open }
      tell(open, to: prompt.owner)
      let dismissed = open.isEmpty || (dismissed && open.count < wanted.count)
      tellOutcome(of: prompt, isDone: !dismissed)
      // The result has its type also when the prompt was dismissed: clients read it all the same.
      try? bus.emitSignal(
        path: prompt.path, interface: Self.promptName, member: "Completed", to: prompt.owner
      ) { (out: inout MessageWriter) throws(BusError) in
        try out.appendBool(dismissed)
        try out.appendVariant("ao") { (inner: inout MessageWriter) throws(BusError) in
          try inner.appendObjectPaths(dismissed ? [] : open)
        }
      }
    case .password(let id):
      let isDone = hasChangedPassword(of: id, prompt)
      tellOutcome(of: prompt, isDone: isDone)
      try? bus.emitSignal(
        path: prompt.path, interface: Self.promptName, member: "Completed", to: prompt.owner
      ) { (out: inout MessageWriter) throws(BusError) in
        try out.appendBool(!isDone)
        try out.appendVariant("s") { (inner: inout MessageWriter) throws(BusError) in try inner.appendString("") }
      }
    case .store, .change, .create:
      let path: String? =
        switch prompt.purpose {
        case .create(let collection): collection.made?.path
        case .store(let item): item.stored?.path
        case .change(let change): change.isDone ? change.item.path : nil
        case .unlock, .password: nil
        }
      tellOutcome(of: prompt, isDone: path != nil)
      try? bus.emitSignal(
        path: prompt.path, interface: Self.promptName, member: "Completed", to: prompt.owner
      ) { (out: inout MessageWriter) throws(BusError) in
        try out.appendBool(path == nil)
        try out.appendVariant("o") { (inner: inout MessageWriter) throws(BusError) in
          try inner.appendObjectPath(path ?? ObjectPath.none)
        }
      }
    }
  }
}
