import LatchkeySystemd

/// A text for a person while something waits for them, such as a device that they must touch. The desktop shows the text as a
/// notification.
public struct PersonNotice {
  private let title: String
  private let text: String

  /// How long the notification server may take to return the notification's number.
  private static let answerLimit = Duration.seconds(1)

  /// Makes a notice without showing it.
  public init(title: String, text: String) { (self.title, self.text) = (title, text) }

  /// Shows the notice until `deadline` is over.
  ///
  /// - Returns: false at once, if no program shows notifications.
  public func show(until deadline: PromptDeadline) -> Bool {
    guard let bus = DesktopBus(deadline: deadline) else { return false }
    var answer: Result<Message, BusError>?
    guard (try? bus.bus.notify(title, text) { answer = $0 }) != nil else { return false }
    _ = deadline.wait(until: { answer != nil || bus.isLost })
    if case .failure = answer { return false }
    _ = deadline.wait(until: { bus.isLost })
    // The notification's number may still be on its way, and closing needs it.
    _ = PromptDeadline(loop: deadline.loop, limit: Self.answerLimit).wait(until: { answer != nil || bus.isLost })
    if case .success(let message) = answer, let number = try? message.readUInt32() {
      bus.bus.closeNotification(number)
    }
    return true
  }
}
