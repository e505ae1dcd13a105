import LatchkeySystemd

/// Tells the person once in a session, by the desktop's notifications, that the vault waits for the former login password.
/// A login is noticed before its desktop is there: then it is said as soon as somebody shows notifications.
final class FormerPasswordNotice {
  private weak var bus: Bus?
  private var watch: BusSlot?
  private var isWanted = false
  private var wasSaid = false
  /// Whether the vault was open when it was last to be said.
  private var isOpen = false
  /// Whether an answer is still to come, and whether somebody else shows notifications since the question.
  private var isUnderWay = false
  private var isToBeRepeated = false

  private static let name = "org.freedesktop.Notifications"
  /// No name of a program or of a person is in it: others may look at the screen.
  private static let title = "The vault stays locked"
  private static let openTitle = "The vault does not know your login password"
  private static let text = """
    The login password was changed without Latchkey. The next program that needs the vault, or 'latchkey unlock', asks \
    you once for the former password or the recovery code.
    """
  private static let openText = """
    The login password was changed without Latchkey. The vault is unlocked now, but your password will not unlock it after \
    the next lock. Run 'latchkey unlock': it asks once for the former password or the recovery code.
    """

  /// Says it on this connection from now on.
  func use(_ bus: Bus) {
    self.bus = bus
    (watch, isUnderWay, isToBeRepeated) = (nil, false, false)
    if isWanted { say() }
  }

  /// It is to be said, unless it was.
  func want(isOpen: Bool) {
    self.isOpen = isOpen
    guard !wasSaid, !isWanted else { return }
    isWanted = true
    say()
  }

  /// It is not so any more, or the session in which it was said has ended.
  func forget() { (isWanted, wasSaid, watch, isToBeRepeated) = (false, false, nil, false) }

  private func say() {
    guard let bus, bus.isOpen else { return }
    // What is under way may reach whoever has just come: it is not to be said twice.
    guard !isUnderWay else {
      isToBeRepeated = true
      return
    }
    if watch == nil {
      // The bus takes the rule before it passes the call on: whoever comes after the answer is heard.
      watch = try? bus.matchSignal(
        sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged", arg0: Self.name,
        installed: { _ in }
      ) { [weak self] message throws(BusError) in
        _ = try message.readString()
        _ = try message.readString()
        if try !message.readString().isEmpty { self?.say() }
      }
    }
    // Nothing is started for it, which would come before the desktop, and in its place.
    isUnderWay = true
    do throws(BusError) { try call(bus) } catch { isUnderWay = false }
  }

  private func call(_ bus: Bus) throws(BusError) {
    try bus.callAsync(
      destination: Self.name, path: "/org/freedesktop/Notifications", interface: Self.name, member: "Notify",
      autoStart: false
    ) { (out: inout MessageWriter) throws(BusError) in
      try out.appendString("Latchkey")
      try out.appendUInt32(0)
      try out.appendString("dialog-password")
      try out.appendString(isOpen ? Self.openTitle : Self.title)
      try out.appendString(isOpen ? Self.openText : Self.text)
      try out.appendStrings([])
      try out.appendDictionary("sv") { (_: inout MessageWriter) throws(BusError) in }
      try out.appendInt32(-1)
    } reply: { [weak self] reply in
      guard let self else { return }
      isUnderWay = false
      guard isWanted else { return }
      if case .success = reply {
        (isWanted, wasSaid, watch, isToBeRepeated) = (false, true, nil, false)
      } else if isToBeRepeated {
        isToBeRepeated = false
        say()
      }
    }
  }
}
