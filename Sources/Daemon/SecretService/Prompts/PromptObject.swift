import LatchkeyPrompts
import LatchkeySystemd

/// The interface `org.freedesktop.Secret.Prompt`: asks one question after the other, until the client's wish is met or no answer
/// can help.
final class PromptObject {
  static let name = "org.freedesktop.Secret.Prompt"

  private let table: PromptTable
  private let steps: PromptSteps
  private let completion: PromptCompletion
  private let queue: PromptQueue
  private let bus: Bus
  private let loop: EventLoop

  /// Some clients listen for the end of a prompt only after their call has returned.
  private static let shortestPrompt = Duration.milliseconds(80)
  /// The most characters that are kept of a client's window and of its reason; fewer are shown.
  private static let textLimit = 255

  init(
    _ table: PromptTable, steps: PromptSteps, completion: PromptCompletion, queue: PromptQueue, bus: Bus,
    loop: EventLoop
  ) {
    self.table = table
    self.steps = steps
    self.completion = completion
    self.queue = queue
    self.bus = bus
    self.loop = loop
  }

  var interface: ObjectInterface {
    ObjectInterface(
      Self.name,
      methods: [
        .init("Prompt", input: [.init("s", "window_id")], handler: perform),
        .init("Dismiss", handler: dismiss),
      ],
      signals: [.init("Completed", [.init("b", "dismissed"), .init("v", "result")])])
  }

  /// Takes `Prompt` with a boolean as well. Emacs before 29 sends a boolean instead of an empty text.
  func takeBoolean(on bus: Bus, where exists: @escaping (String) -> Bool) throws(SystemdError) -> BusSlot {
    try bus.takeOtherForm(
      of: "Prompt", in: Self.name, signature: "b", where: exists
    ) { [self] call throws(BusError) in try begin(call, window: "") }
  }

  private func perform(_ call: MethodCall) throws(BusError) { try begin(call, window: try call.message.readString()) }

  private func begin(_ call: MethodCall, window: String) throws(BusError) {
    let prompt = try table.new(call)
    perform(prompt, window: window, reason: "")
    call.reply()
  }

  /// Asks.
  ///
  /// - Parameter reason: the client's reason.
  func perform(_ prompt: Prompt, window: String, reason: String) {
    prompt.phase = .asked(at: .now)
    let (window, reason) = (Self.shortened(window), Self.shortened(reason))
    // The caller's name is only a hint for the person, so the prompt asks also without it.
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

  /// The start of a client's text. The text is cut, because the prompt keeps it until the person answers.
  private static func shortened(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(textLimit)))
  }

  private func dismiss(_ call: MethodCall) throws(BusError) {
    let prompt = try table.own(call)
    call.reply()
    if case .completing = prompt.phase { return }
    if prompt.isNew { prompt.phase = .asked(at: .now) }
    prompt.lastEnd = .withdrawn
    guard let ticket = prompt.ticket else { return complete(prompt, dismissed: true) }
    prompt.ticket = nil
    queue.cancel(ticket) { [weak self, weak prompt] in
      if let prompt { self?.complete(prompt, dismissed: true) }
    }
  }

  /// Asks the next question of the prompt, or completes it. No question is asked twice.
  private func advance(_ prompt: Prompt, for caller: Caller) {
    guard table[prompt.path] === prompt, case .asked = prompt.phase else { return }
    prompt.lastEnd = prompt.ticket?.end ?? prompt.lastEnd
    prompt.ticket = nil
    switch steps.next(of: prompt) {
    case .complete(let dismissed): complete(prompt, dismissed: dismissed)
    case .ask(let question, let lifting):
      guard prompt.asked.insert(question).inserted else { return complete(prompt, dismissed: true) }
      prompt.ticket = queue.ask(
        question, lifting: lifting, for: caller, passphrase: prompt.passphrase(for: question)
      ) { [weak self, weak prompt] in
        guard let self, let prompt else { return }
        prompt.isPaused = queue.isPaused(question, isBrought: prompt.passphrase(for: question) != nil)
        advance(prompt, for: caller)
      }
    }
  }

  private func complete(_ prompt: Prompt, dismissed: Bool) {
    if let ticket = prompt.ticket { queue.cancel(ticket) }
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
    if table.remove(prompt) { completion.tell(prompt, dismissed: dismissed) }
  }
}
