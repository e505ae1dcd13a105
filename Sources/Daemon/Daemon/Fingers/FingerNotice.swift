import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySystemd

/// Tells the person, by the desktop's notifications, that fingers were refused at a locked screen or a prompt, or that others are
/// enrolled than before.
final class FingerNotice {
  private let notification = DesktopNotification()
  private var news: HoldEnd?

  /// Shows the notification on this connection from now on.
  func use(_ bus: Bus) { notification.use(bus) }

  /// Notes why no finger unlocks any more. Most reasons are no news for a person.
  func note(_ why: HoldEnd) {
    if why == .manyTouches || why == .otherPrints { news = why }
  }

  /// Shows the notification: the vault is unlocked, and no locker is up.
  func tell() {
    guard let news, !notification.isWaiting else { return }
    notification.show(Self.message(news)) { [weak self] in self?.news = nil }
  }

  /// Holds the notification back, perhaps until later.
  func hold() { notification.withdraw() }

  private static func message(_ why: HoldEnd) -> DesktopNotification.Message {
    why == .manyTouches
      ? DesktopNotification.Message(
        title: translated("Fingers were refused"),
        text: translated("Five fingers did not match, so the vault waited for your password."), page: "unlocking")
      : DesktopNotification.Message(
        title: translated("Your enrolled fingers have changed"),
        text: translated(
          "So the vault waited for your password. If you have not changed them, see 'fprintd-list $USER'."),
        page: "unlocking")
  }
}
