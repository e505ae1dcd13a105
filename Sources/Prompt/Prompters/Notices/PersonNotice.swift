import LatchkeyPosix
import LatchkeySystemd

/// A text that the person reads while something waits for them, such as a device that they touch. The desktop shows it as a
/// notification.
public struct PersonNotice {
  private let title: String
  private let text: String

  /// How long the notification server may take to return the notification's number.
  static let answerLimit = Duration.seconds(1)
  private static let name = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"

  /// Shows nothing yet.
  public init(title: String, text: String) { (self.title, self.text) = (title, text) }

  /// Shows it until `deadline` is over.
  ///
  /// - Returns: false at once, if no program shows notifications.
  public func show(until deadline: PromptDeadline) -> Bool {
    guard let bus = DesktopBus(deadline: deadline) else { return false }
    var answer: Result<Message, BusError>?
    guard (try? send(on: bus.bus, reply: { answer = $0 })) != nil else { return false }
    _ = deadline.wait(until: { answer != nil || bus.isLost })
    if case .failure = answer { return false }
    _ = deadline.wait(until: { bus.isLost })
    // The number may still be on its way.
    _ = PromptDeadline(loop: deadline.loop, limit: Self.answerLimit).wait(until: { answer != nil || bus.isLost })
    if case .success(let message) = answer, let number = try? message.readUInt32() {
      Self.remove(number, on: bus.bus)
    }
    return true
  }

  /// Asks for a notification. No program is started for it.
  func send(on bus: Bus, reply: @escaping (Result<Message, BusError>) -> Void) throws(BusError) {
    try bus.callAsync(destination: Self.name, path: Self.path, interface: Self.name, member: "Notify", autoStart: false)
    { out in
      out.appendString("Latchkey")
      out.appendUInt32(0)
      out.appendString("dialog-password")
      out.appendString(title)
      out.appendString(text)
      out.appendStrings([])
      out.appendDictionary("sv") { _ in }
      out.appendInt32(-1)
    } reply: {
      reply($0)
    }
  }

  /// Takes a notification off the screen.
  static func remove(_ number: UInt32, on bus: Bus) {
    try? bus.callAsync(
      destination: name, path: path, interface: name, member: "CloseNotification", autoStart: false
    ) {
      $0.appendUInt32(number)
    } reply: { _ in
    }
    bus.flush()
  }
}
