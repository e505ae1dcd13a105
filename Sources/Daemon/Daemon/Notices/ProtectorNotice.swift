import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySystemd

/// Tells the person, by a notification of the desktop, that the vault has a new protector. Somebody else who knows the password
/// could have added it.
final class ProtectorNotice {
  private let notification = DesktopNotification()
  private var news: [Protector.Kind] = []

  /// Shows the notification on this connection from now on.
  func use(_ bus: Bus) { notification.use(bus) }

  /// Notes which protectors were added and removed, and logs both. A removed protector is no danger, and needs no notification.
  func note(added: [Protector], removed: [Protector]) {
    for one in removed { Journal.log(.notice, "the protector \(one.kind.name) was removed from the vault") }
    for one in added { Journal.log(.notice, "the protector \(one.kind.name) was added to the vault") }
    news += added.map(\.kind)
  }

  /// Shows the notification: the vault is unlocked, and no locker is up.
  func tell() {
    let kinds = Protector.Kind.allCases.filter(news.contains)
    guard let first = kinds.first, !notification.isWaiting else { return }
    let count = news.count
    notification.show(Self.message(first, kinds.dropFirst())) { [weak self] in self?.news.removeFirst(count) }
  }

  /// Holds the notification back, perhaps until later.
  func hold() { notification.withdraw() }

  /// The message names each kind that was added, and no security key, because others may look at the screen.
  private static func message(
    _ first: Protector.Kind, _ others: ArraySlice<Protector.Kind>
  ) -> DesktopNotification.Message {
    let advice = translated(
      """
      'latchkey protector list' shows everything that unlocks the vault. If you did not add this, change your login \
      password, and remove this with 'latchkey protector remove'.
      """)
    return DesktopNotification.Message(
      title: title(first), text: (others.map(title) + [advice]).joined(separator: "\n"), page: "unlocking")
  }

  private static func title(_ kind: Protector.Kind) -> String {
    switch kind {
    case .recoveryCode: translated("A recovery code unlocks your vault now")
    case .securityKey: translated("One more security key unlocks your vault now")
    case .finger: translated("A finger unlocks your vault now")
    case .session: translated("Logins without a password unlock a part of your vault now")
    case .password, .device: translated("Something else unlocks your vault now")
    }
  }
}
