import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySystemd

/// Tells the person, by the desktop's notifications, that something else unlocks the vault than before. Somebody who knows the
/// password could have added it.
final class ProtectorNotice {
  private let notification = DesktopNotification()
  private var news: [Protector.Kind] = []

  /// Shows the notification on this connection from now on.
  func use(_ bus: Bus) { notification.use(bus) }

  /// Notes which protectors came and went. Both are in the log.
  func note(added: [Protector], removed: [Protector]) {
    for one in removed { Journal.log(.notice, "\(one.kind.name) does not unlock the vault any more: it was removed") }
    for one in added { Journal.log(.notice, "\(one.kind.name) was added to what unlocks the vault") }
    news += added.map(\.kind)
  }

  /// Shows the notification: the vault is unlocked, and no locker is up.
  func tell() {
    guard !news.isEmpty, !notification.isWaiting else { return }
    let kinds = news
    notification.show(Self.message(kinds)) { [weak self] in self?.news.removeFirst(kinds.count) }
  }

  /// Holds the notification back, perhaps until later.
  func hold() { notification.withdraw() }

  private static func message(_ kinds: [Protector.Kind]) -> DesktopNotification.Message {
    let names = kinds.map(\.name).joined(separator: ", ")
    return DesktopNotification.Message(
      title: translated("Something was added that unlocks your vault: \(names)"),
      text: translated("If you have not added it, change your login password, and see 'latchkey protector'."),
      page: "unlocking")
  }
}
