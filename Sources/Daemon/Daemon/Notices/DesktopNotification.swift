import LatchkeyGettext
import LatchkeySystemd

/// One message to the person, as a notification of the desktop. The message is shown as soon as a program shows notifications,
/// which may be long after a login.
final class DesktopNotification {
  /// The text for the person.
  struct Message: Equatable {
    let title: String
    let text: String
    /// The page of latchkey-app that a click on the message shows.
    let page: String
  }

  private static let window = "org.latchkey.app"

  private weak var bus: Bus?
  private var watch: BusSlot?
  /// The text is composed when it is shown, in the desktop's language at that moment.
  private var message: (() -> Message)?
  private var shown: () -> Void = {}
  /// The message on the screen that a person may click on: its number, its page, and the desktop's permission to come to the front.
  private var onScreen: (program: String?, number: UInt32, page: String, token: String?)?
  private var clicks: [BusSlot] = []
  /// Whether an answer is still due, and whether another program has begun to show notifications since the question.
  private var isUnderWay = false
  private var isToBeRepeated = false

  /// Whether a message waits to be shown.
  var isWaiting: Bool { message != nil }

  /// Shows messages on this connection from now on.
  func use(_ bus: Bus) {
    self.bus = bus
    (watch, isUnderWay, isToBeRepeated, onScreen, clicks) = (nil, false, false, nil, [])
    if message != nil { send() }
  }

  /// Shows a message as soon as possible. It replaces a message that still waits.
  ///
  /// - Parameter shown: called once, when the message is on the screen.
  func show(_ message: @autoclosure @escaping () -> Message, shown: @escaping () -> Void) {
    let waits = isWaiting
    (self.message, self.shown) = (message, shown)
    if !waits { send() }
  }

  /// Drops a notification that waits.
  func withdraw() { (message, watch, isToBeRepeated, shown) = (nil, nil, false, {}) }

  private func send() {
    guard let bus, bus.isOpen else { return }
    // The call under way may still reach a program that has just started. A second one would show the text twice.
    guard !isUnderWay else {
      isToBeRepeated = true
      return
    }
    if watch == nil {
      // The bus takes the rule before it passes the call on, so a service that appears after the answer is noticed.
      watch = try? bus.matchSignal(
        sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
        arg0: Bus.notifications, installed: { _ in }
      ) { [weak self] message throws(BusError) in
        _ = try message.readString()
        _ = try message.readString()
        if try !message.readString().isEmpty { self?.send() }
      }
    }
    guard message != nil else { return }
    isUnderWay = true
    do throws(BusError) {
      try SessionLanguage.take(from: bus) { [weak self, weak bus] in
        guard let self, let bus, self.bus === bus else { return }
        guard let message, bus.isOpen else {
          isUnderWay = false
          return
        }
        do throws(BusError) { try call(bus, message()) } catch { isUnderWay = false }
      }
    } catch { isUnderWay = false }
  }

  /// Hears when a person clicks on the message.
  private func hearClicks(_ bus: Bus) {
    guard clicks.isEmpty else { return }
    for member in ["ActivationToken", "ActionInvoked"] {
      let slot = try? bus.matchSignal(interface: Bus.notifications, member: member) {
        [weak self] message throws(BusError) in
        guard let self, let onScreen, message.sender == onScreen.program, try message.readUInt32() == onScreen.number
        else {
          return
        }
        guard member == "ActionInvoked" else {
          self.onScreen?.token = try message.readString()
          return
        }
        self.onScreen = nil
        showWindow(onScreen.page, token: onScreen.token)
      }
      if let slot { clicks.append(slot) }
    }
  }

  /// Makes the window show a page. Nothing happens if the window is not installed.
  private func showWindow(_ page: String, token: String?) {
    try? bus?.callAsync(
      destination: Self.window, path: "/org/latchkey/app", interface: "org.freedesktop.Application",
      member: "ActivateAction"
    ) { out in
      out.appendString(page)
      out.appendArray("v", of: [String]()) { _, _ in }
      out.appendDictionary("sv") { all in
        if let token { all.appendProperty("activation-token", "s") { $0.appendString(token) } }
      }
    } reply: { _ in
    }
  }

  private func call(_ bus: Bus, _ message: Message) throws(BusError) {
    hearClicks(bus)
    try bus.notify(message.title, message.text, click: translated("Show"), program: Self.window) { [weak self] reply in
      guard let self else { return }
      isUnderWay = false
      guard isWaiting else { return }
      // The answer is about the message that was sent, but another message may wait by now.
      let isAnother = self.message?() != message
      if case .success(let answer) = reply, !isAnother {
        onScreen = (try? answer.readUInt32()).map { (answer.sender, $0, message.page, nil) }
        let shown = shown
        withdraw()
        shown()
        return
      }
      guard isToBeRepeated || isAnother else { return }
      isToBeRepeated = false
      send()
    }
  }
}
