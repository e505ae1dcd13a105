import LatchkeySystemd

/// One message to the person, by the desktop's notifications. The message is shown as soon as a program shows notifications, which
/// may be long after a login.
final class DesktopNotification {
  /// The text for the person.
  struct Message: Equatable {
    let title: String
    let text: String
  }

  private weak var bus: Bus?
  private var watch: BusSlot?
  /// The text is composed when it is shown, in the desktop's language at that moment.
  private var message: (() -> Message)?
  private var shown: () -> Void = {}
  /// Whether an answer is still due, and whether another program has begun to show notifications since the question.
  private var isUnderWay = false
  private var isToBeRepeated = false

  private static let name = "org.freedesktop.Notifications"

  /// Whether a message waits to be shown.
  var isWaiting: Bool { message != nil }

  /// Shows messages on this connection from now on.
  func use(_ bus: Bus) {
    self.bus = bus
    (watch, isUnderWay, isToBeRepeated) = (nil, false, false)
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
        sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged", arg0: Self.name,
        installed: { _ in }
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

  private func call(_ bus: Bus, _ message: Message) throws(BusError) {
    // The call starts no program: such a program would show notifications in the place of the desktop, which starts later.
    try bus.callAsync(
      destination: Self.name, path: "/org/freedesktop/Notifications", interface: Self.name, member: "Notify",
      autoStart: false
    ) { out in
      out.appendString("Latchkey")
      out.appendUInt32(0)
      out.appendString("dialog-password")
      out.appendString(message.title)
      out.appendString(message.text)
      out.appendStrings([])
      out.appendDictionary("sv") { _ in }
      out.appendInt32(-1)
    } reply: { [weak self] reply in
      guard let self else { return }
      isUnderWay = false
      guard isWaiting else { return }
      if case .success = reply {
        let shown = shown
        withdraw()
        shown()
      } else if isToBeRepeated {
        isToBeRepeated = false
        send()
      }
    }
  }
}
