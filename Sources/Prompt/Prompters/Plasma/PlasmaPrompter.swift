import Glibc
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// Plasma's prompter, ksecretprompter. It opens one window for each request, with a field and its own text around the name that we
/// give. A request does not end with the answer, but only when we say whether the answer was right.
final class PlasmaPrompter: Prompter {
  static let name = "org.kde.secretprompter"
  private static let path = "/SecretPrompter"
  private static let interface = "org.kde.secretprompter.request"
  /// The prefix of our requests' paths. Each path is new.
  private static let requests = "/org/latchkey/prompt"
  /// The longest answer, in bytes: PAM's limit.
  private static let answerLimit = 512

  /// Our replies to the prompter's calls Accepted and Rejected.
  private enum Action: Int32 {
    case close = 0
    case keep = 1
  }

  private enum Stage { case idle, waiting, accepted, rejected, gone }

  private let desktop: DesktopBus
  private let window: String
  private var stage = Stage.idle
  private var callbacks: BusSlot?
  private var watch: BusSlot?
  /// The bus name of the program that shows the window. No other name may call back.
  private var prompter: String?
  private var count = 0
  private var request: String { "\(Self.requests)/\(count)" }
  /// The answer that we have not judged yet.
  private var pending: MethodCall?
  /// The descriptor that holds the answer.
  private var answer: Int32?
  private var asked = ""

  init(_ desktop: DesktopBus, window: String) {
    self.desktop = desktop
    self.window = PlainText.name(window)
  }

  func ask(_ question: PromptText) -> Answer {
    // Every window of Plasma's prompter has a field, so it cannot ask for agreement only.
    guard !question.isConfirmation else { return .unavailable }
    if pending != nil && stage == .accepted && question.message == asked && !question.warning.isEmpty {
      stage = .waiting
      retry(question.warning)
      judge(.keep)
    } else {
      judge(.close)
      guard open(question) else { return desktop.deadline.isOver ? .dismissed : .unavailable }
      if !question.warning.isEmpty { retry(question.warning) }
    }
    asked = question.message
    guard desktop.deadline.wait(until: { stage != .waiting || desktop.isLost }), stage == .accepted else {
      return .dismissed
    }
    guard let secret = read() else { return .unavailable }
    return .given(secret)
  }

  /// Plasma's window cannot show this text, so a notification shows it.
  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool {
    var number: UInt32?
    try? desktop.bus.notify(notice.title, notice.message) { reply in
      if case .success(let message) = reply { number = try? message.readUInt32() }
    }
    let isOver = { [self] in stage != .accepted || desktop.isLost }
    let isAnswered = desktop.deadline.wait(until: { isDone() || isOver() }) && !isOver()
    if let number { desktop.bus.closeNotification(number) }
    return isAnswered
  }

  func end() {
    judge(.close)
    if stage == .waiting { dismiss() }
    // An answer may have come too late. It is erased too.
    if let number = answer.take() { FileDescriptor(owning: number).erasePipe() }
    callbacks = nil
    watch = nil
    if prompter != nil && !desktop.isLost { desktop.bus.flush() }
    prompter = nil
  }

  /// Opens a new window.
  private func open(_ question: PromptText) -> Bool {
    guard let owner = desktop.start(Self.name) else { return false }
    prompter = owner
    stage = .waiting
    count += 1
    var isOpen: Bool?
    do {
      watch = try desktop.bus.watchPeer(owner) { [weak self] in self?.stage = .gone }
      if callbacks == nil {
        callbacks = try desktop.bus.export(requestInterface, below: Self.requests) { [weak self] in $0 == self?.request
        }
      }
      // The window says "… the wallet NAME.", or "… create the wallet NAME.". We can choose only the name, so the question goes
      // there.
      var name = "Latchkey: \(question.message). \(question.detail)"
      if name.last == "." { name.removeLast() }
      try desktop.bus.callAsync(
        destination: owner, path: Self.path, interface: Self.name,
        member: question.isNew ? "CreateCollectionPrompt" : "UnlockCollectionPrompt",
        timeout: PromptDeadline.programLimit,
        autoStart: false
      ) { writer in
        writer.appendObjectPath(request)
        writer.appendString(window)
        writer.appendString("")
        writer.appendString(name)
      } reply: {
        if case .success = $0 { isOpen = true } else { isOpen = false }
      }
    } catch { return false }
    // The prompter replies when the window is shown, and may call back even before.
    let isDone = desktop.deadline.wait { isOpen != nil || stage != .waiting || desktop.isLost }
    if isOpen == true || stage == .accepted || stage == .rejected { return true }
    if !isDone || stage == .waiting { dismiss() }
    return false
  }

  private func judge(_ action: Action) {
    pending?.reply { $0.appendInt32(action.rawValue) }
    pending = nil
  }

  private func retry(_ reason: String) {
    try? desktop.bus.emitSignal(path: request, interface: Self.interface, member: "Retry", to: prompter) {
      $0.appendString(reason)
    }
  }

  private func dismiss() {
    try? desktop.bus.emitSignal(path: request, interface: Self.interface, member: "Dismiss", to: prompter)
  }

  /// All bytes that the prompter wrote into the descriptor.
  private func read() -> SecureBytes? {
    guard let number = answer.take() else { return nil }
    let descriptor = FileDescriptor(owning: number)
    // The pipe is erased even if the answer is too long or incomplete.
    defer { descriptor.erasePipe() }
    var isReadable = false
    let arrived = { (_: IOEvents) in isReadable = true }
    guard var bytes = try? SecureBytes(count: Self.answerLimit),
      let source = try? desktop.deadline.loop.addIO(fd: descriptor.number, events: .readable, handler: arrived)
    else { return nil }
    defer { source.cancel() }
    var filled = 0
    while filled < Self.answerLimit {
      isReadable = false
      guard desktop.deadline.wait(atMost: PromptDeadline.programLimit, until: { isReadable }) else { return nil }
      let count = SystemCall.read(descriptor.number, into: bytes.mutableBytes(from: filled))
      if count == 0 { return try? bytes.prefix(filled) }
      if count > 0 { filled += count } else if errno != EINTR && errno != EAGAIN { return nil }
    }
    return nil
  }

  // MARK: Called by the prompter

  private var requestInterface: ObjectInterface {
    ObjectInterface(
      Self.interface,
      methods: [
        .init("Accepted", input: [.init("h", "result")], output: [.init("i", "action")]) {
          [weak self] call throws(BusError) in
          guard let self else { return }
          try self.check(call)
          self.answer = try call.message.readUnixFD()
          self.pending = call
          self.stage = .accepted
        },
        .init("Rejected", output: [.init("i", "action")]) { [weak self] call throws(BusError) in
          guard let self else { return }
          try self.check(call)
          self.stage = .rejected
          call.reply { $0.appendInt32(Action.close.rawValue) }
        },
        .init("Dismissed") { [weak self] call throws(BusError) in
          guard let self, call.sender == self.prompter else { throw .accessDenied("this is not your prompt") }
          call.reply()
          if self.stage == .waiting || self.stage == .accepted { self.stage = .rejected }
        },
      ],
      signals: [.init("Retry", [.init("s", "reason")]), .init("Dismiss")])
  }

  private func check(_ call: MethodCall) throws(BusError) {
    guard call.sender == prompter, stage == .waiting else { throw .accessDenied("this is not your prompt") }
  }
}
