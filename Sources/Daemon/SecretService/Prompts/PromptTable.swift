import LatchkeyPrompts
import LatchkeySystemd

/// The open prompts of all clients.
final class PromptTable {
  private let loop: EventLoop
  private let queue: PromptQueue
  private let clients: Clients
  private let completion: PromptCompletion
  private var prompts: [String: Prompt] = [:]
  private var numbers = FreshNumbers()

  /// The time for which a request is kept if the client does not show its prompt.
  private static let unusedTime = Duration.seconds(60)
  /// The most prompts that one client may have. Another prompt removes the oldest one.
  private static let promptLimit = 256

  init(loop: EventLoop, queue: PromptQueue, clients: Clients, completion: PromptCompletion) {
    self.loop = loop
    self.queue = queue
    self.clients = clients
    self.completion = completion
  }

  // MARK: - finding

  /// The prompt at a path.
  subscript(path: String) -> Prompt? { prompts[path] }

  /// The prompt of this number.
  subscript(number: UInt64) -> Prompt? { prompts[ObjectPath.numbered(number, below: ObjectPath.prompts)] }

  /// The paths of all prompts.
  var allPaths: [String] { Array(prompts.keys) }

  /// The prompts in which an item waits for its passphrase.
  var withItem: [Prompt] { prompts.values.filter { $0.item != nil } }

  /// The prompt of a call, which must belong to the caller.
  func own(_ call: MethodCall) throws(BusError) -> Prompt {
    guard let prompt = prompts[call.path] else { throw .noSuchObject(call.path) }
    guard prompt.owner == call.sender else { throw .accessDenied("that prompt is not yours") }
    return prompt
  }

  /// The prompt at the path of a call, if the client has not asked yet.
  func new(_ call: MethodCall) throws(BusError) -> Prompt {
    let prompt = try own(call)
    guard prompt.isNew else { throw .alreadyExists("that prompt is being answered already") }
    return prompt
  }

  // MARK: - coming and going

  /// - Parameter purpose: makes the request, with the prompt's number in its own questions.
  func make(for client: String, _ purpose: (UInt64) -> Prompt.Purpose) -> Prompt {
    let own = prompts.values.filter { $0.owner == client }
    if own.count >= Self.promptLimit, let oldest = own.min(by: { $0.number < $1.number }) { end(oldest) }
    let number = numbers.take()
    let path = ObjectPath.numbered(number, below: ObjectPath.prompts)
    let prompt = Prompt(path: path, number: number, owner: client, purpose: purpose(number))
    prompts[prompt.path] = prompt
    clients.watch(client)
    if prompt.endsAtLock {
      prompt.unusedEnd = try? loop.addTimer(after: Self.unusedTime) { [weak self, weak prompt] in
        if let prompt, prompt.isNew { self?.end(prompt) }
      }
    }
    return prompt
  }

  /// Removes a completed prompt.
  ///
  /// - Returns: whether the prompt existed.
  func remove(_ prompt: Prompt) -> Bool { prompts.removeValue(forKey: prompt.path) != nil }

  /// Removes a prompt in any state. If its client has asked, it hears that the prompt was dismissed.
  func end(_ prompt: Prompt) {
    guard remove(prompt) else { return }
    if let ticket = prompt.ticket { queue.cancel(ticket) }
    (prompt.ticket, prompt.given) = (nil, nil)
    if prompt.isNew { return }
    prompt.lastEnd = .withdrawn
    completion.tell(prompt, dismissed: true)
  }

  /// Removes every prompt: there is no vault that an answer could open.
  func endAll() {
    for prompt in Array(prompts.values) { end(prompt) }
  }

  /// Dismisses every asked prompt, because the program ends: libsecret waits for ever for a prompt whose service vanishes.
  func dismissAll() {
    for prompt in prompts.values where !prompt.isNew {
      prompt.lastEnd = .withdrawn
      completion.tell(prompt, dismissed: true)
    }
  }

  /// Removes the prompts of a client that has left, or of all clients.
  ///
  /// - Returns: the places in the queue that the client's prompts leave.
  func removeAll(of client: String? = nil) -> [PromptTicket] {
    let gone = prompts.values.filter { client == nil || $0.owner == client }
    for prompt in gone { prompts[prompt.path] = nil }
    let tickets = gone.compactMap(\.ticket)
    for prompt in gone { (prompt.ticket, prompt.given, prompt.lastEnd) = (nil, nil, .withdrawn) }
    return tickets
  }

  // MARK: - locks

  /// Forgets passphrases that clients gave: all of them, or only those for requests in a collection that was locked explicitly.
  func forgetGiven(of collection: Int64?) {
    for prompt in prompts.values where collection == nil || prompt.endsAtLock { prompt.given = nil }
  }

  /// Ends the prompts whose requests end at a lock, in one collection or in all.
  func endWaiting(of collection: Int64?) {
    for prompt in prompts.values where prompt.endsAtLock && (collection == nil || prompt.collection == collection) {
      end(prompt)
    }
  }

  /// Ends the prompts in which a request about one item waits.
  func endWaiting(forItem id: Int64) {
    for prompt in prompts.values where prompt.waits(forItem: id) { end(prompt) }
  }
}
