import LatchkeySodium
import LatchkeySystemd

/// GNOME's prompter: the shell's own dialog, or the window of gcr-prompter.
///
/// The prompter calls this object back. PromptReady says that the dialog is now ours, and later brings the person's answer.
/// PromptDone says that the dialog is no longer ours. The prompter shows one dialog at a time, so other callers wait.
final class SystemPrompter: Prompter {
  static let name = "org.gnome.keyring.SystemPrompter"
  private static let path = "/org/gnome/keyring/Prompter"
  private static let interface = "org.gnome.keyring.internal.Prompter"
  /// The path of our callback, on our own connection.
  private static let callback = "/org/latchkey/prompt"

  let repeatsNew = true

  private enum Stage { case idle, waiting, ready, gone }

  private let desktop: DesktopBus
  private let window: String
  private var stage = Stage.idle
  private var callbacks: BusSlot?
  private var watch: BusSlot?
  /// The bus name of the prompter that answered BeginPrompting. No other name may call back.
  private var prompter: String?
  private var received = (reply: "", exchange: "")
  private var exchange: SecretExchange?

  init(_ desktop: DesktopBus, window: String) {
    self.desktop = desktop
    // The prompter accepts only decimal digits as the identifier of a window.
    self.window = window.utf8.allSatisfy { (0x30...0x39).contains($0) } ? window : ""
  }

  func ask(_ question: PromptText) -> Answer {
    if stage == .idle && !begin() { return desktop.deadline.isOver ? .dismissed : .unavailable }
    guard stage == .ready, let exchange else { return .unavailable }
    stage = .waiting
    var isShown = false
    var isRefused = false
    do throws(BusError) {
      try call("PerformPrompt") { writer in
        writer.appendString(question.isConfirmation ? "confirm" : "password")
        self.append(question, to: &writer)
        writer.appendString(exchange.text)
      } reply: { error in
        isShown = error == nil
        isRefused = error != nil
      }
    } catch { return .unavailable }
    guard desktop.deadline.wait(until: { stage != .waiting || isRefused || desktop.isLost }) else { return .dismissed }
    guard stage == .ready else { return isShown ? .dismissed : .unavailable }
    // On the locked screen the shell gives this answer by itself, at once.
    guard received.reply == "yes" else { return .dismissed }
    if question.isConfirmation { return .agreed }
    guard let secret = try? exchange.secret(in: received.exchange) else { return .unavailable }
    return .given(secret)
  }

  /// The prompter's dialog stays on the screen, and itself shows that it waits.
  func check() -> Bool { true }

  /// The last dialog stays on the screen. It asked for the PIN and names the device, and the person can cancel it.
  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool {
    let isOver = { [self] in stage == .gone || desktop.isLost }
    return desktop.deadline.wait(until: { isDone() || isOver() }) && !isOver()
  }

  func end() {
    callbacks = nil
    watch = nil
    guard prompter != nil, !desktop.isLost else { return }
    stage = .gone
    // This call is needed even after PromptDone. When the person presses Escape, gcr's prompter closes the dialog itself, but does
    // not check whether another dialog waits. This call makes it check.
    try? call("StopPrompting") { _ in
    } reply: { _ in
    }
    // This program may end next, so the call must be sent now.
    desktop.bus.flush()
  }

  /// Waits until the dialog is ours.
  private func begin() -> Bool {
    stage = .waiting
    var isBegun: Bool?
    do {
      callbacks = try desktop.bus.export(callbackInterface, below: Self.callback) { $0 == Self.callback }
      try desktop.bus.callAsync(
        destination: Self.name, path: Self.path, interface: Self.interface, member: "BeginPrompting",
        timeout: PromptDeadline.programLimit
      ) {
        $0.appendObjectPath(Self.callback)
      } reply: { [weak self] result in
        // This reply comes before PromptReady, so PromptReady's sender can be checked.
        if case .success(let message) = result { self?.prompter = message.sender }
        isBegun = self?.prompter != nil
      }
    } catch { return false }
    guard desktop.deadline.wait(atMost: PromptDeadline.programLimit, until: { isBegun != nil || desktop.isLost }),
      let prompter
    else {
      // If the prompter shows a dialog late, it finds no callback here, and withdraws the dialog.
      callbacks = nil
      return false
    }
    watch = try? desktop.bus.watchPeer(prompter) { [weak self] in self?.stage = .gone }
    guard watch != nil, desktop.deadline.wait(until: { stage != .waiting || desktop.isLost }), stage == .ready else {
      return false
    }
    exchange = try? SecretExchange(answering: received.exchange)
    return exchange != nil
  }

  private func call(
    _ member: String, build: (inout MessageWriter) -> Void, reply: @escaping (BusError?) -> Void
  ) throws(BusError) {
    guard let prompter else { throw .failed("no prompter") }
    try desktop.bus.callAsync(
      destination: prompter, path: Self.path, interface: Self.interface, member: member,
      timeout: PromptDeadline.programLimit, autoStart: false
    ) { writer in
      writer.appendObjectPath(Self.callback)
      build(&writer)
    } reply: { result in
      if case .failure(let error) = result { reply(error) } else { reply(nil) }
    }
  }

  private func append(_ question: PromptText, to writer: inout MessageWriter) {
    let texts = [
      ("title", question.title), ("message", question.message), ("description", question.detail),
      ("warning", question.warning), ("choice-label", ""), ("caller-window", window),
      ("continue-label", question.button), ("cancel-label", PromptWording.cancel),
    ]
    writer.open("a", "{sv}")
    for (name, text) in texts {
      writer.appendProperty(name, "s") { $0.appendString(text) }
    }
    writer.appendProperty("password-new", "b") { $0.appendBool(question.isNew) }
    writer.close()
  }

  // MARK: Called by the prompter

  private var callbackInterface: ObjectInterface {
    ObjectInterface(
      "org.gnome.keyring.internal.Prompter.Callback",
      methods: [
        .init(
          "PromptReady", input: [.init("s", "reply"), .init("a{sv}", "properties"), .init("s", "exchange")],
          flags: .sensitive
        ) { [weak self] call throws(BusError) in try self?.promptReady(call) },
        .init("PromptDone") { [weak self] call throws(BusError) in try self?.promptDone(call) },
      ])
  }

  private func promptReady(_ call: MethodCall) throws(BusError) {
    guard call.sender == prompter else { throw .accessDenied("this is not your prompt") }
    let reply = try call.message.readString()
    // Skips the changed properties of the dialog, which we do not need.
    try call.message.skip()
    received = (reply, try call.message.readString())
    // The prompter accepts our next call only after this reply, so the reply goes out first.
    call.reply()
    if stage == .waiting { stage = .ready }
  }

  private func promptDone(_ call: MethodCall) throws(BusError) {
    guard call.sender == prompter else { throw .accessDenied("this is not your prompt") }
    call.reply()
    stage = .gone
  }
}
