import LatchkeyGettext
import LatchkeySystemd

/// Tells the person once in a session, by the desktop's notifications, that the vault waits for the former login password.
final class FormerPasswordNotice {
  private let notification = DesktopNotification()
  private var wasSaid = false

  /// The text names no program and no person, because others may look at the screen.
  private static var message: DesktopNotification.Message {
    DesktopNotification.Message(
      title: translated("The vault stays locked"),
      text: translated(
        """
        The password that was just given does not unlock the vault. If you mistyped it, give the right one. If the \
        login password was changed without Latchkey, the next program that needs the vault, or 'latchkey unlock', \
        asks you for the former password or the recovery code.
        """), page: "unlocking")
  }
  private static var openMessage: DesktopNotification.Message {
    DesktopNotification.Message(
      title: translated("The vault does not know your login password"),
      text: translated(
        """
        The password that was just given does not unlock the vault, which is unlocked now. If you mistyped it, nothing is \
        wrong. If the login password was changed without Latchkey, it will not unlock the vault after the next lock. Run \
        'latchkey unlock': it asks for the former password or the recovery code.
        """), page: "unlocking")
  }

  /// Shows the notification on this connection from now on.
  func use(_ bus: Bus) { notification.use(bus) }

  /// Shows the notification, unless this session has shown it.
  func want(isOpen: Bool) {
    guard !wasSaid else { return }
    notification.show(isOpen ? Self.openMessage : Self.message) { [weak self] in self?.wasSaid = true }
  }

  /// Forgets the notification: the vault does not wait any more, or the session has ended.
  func forget() {
    wasSaid = false
    notification.withdraw()
  }
}
