import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd

/// Tells the person once that Latchkey keeps their programs' secrets now, how to bring former secrets over, and how to go back. If
/// no program shows notifications, it tries again at later logins, for a month.
final class FirstNotice {
  private let notification = DesktopNotification()
  private let home: String
  private let owner: uid_t
  /// Whether this program has nothing more to tell.
  private var isDone = false

  /// The time after the vault's creation in which the notification is news, in seconds.
  private static let newsTime: UInt64 = 30 * 24 * 3600
  private static let folder = [".local", "state", "latchkey"]
  /// The file that records that the notification was shown.
  private static let marker = "first-notice"
  /// The record of `latchkey switch`. A person who ran it needs no notice.
  private static let switchRecord = "switch.json"

  /// The record of `latchkey switch --all-users`.
  private static let machineRecord = "/etc/latchkey/switch.json"

  init(home: String, owner: uid_t) { (self.home, self.owner) = (home, owner) }

  /// Shows the notification on this connection from now on.
  func use(_ bus: Bus) { notification.use(bus) }

  /// The vault is unlocked, programs reach it, and nothing is between the person and the desktop.
  ///
  /// - Parameters:
  ///   - created: when the vault was created; nil if that is not known yet.
  ///   - othersWait: whether another program waits for the name of the Secret Service.
  func tell(created: @autoclosure () -> UInt64?, othersWait: @autoclosure @escaping () -> Bool) {
    // The session is unlocked a moment before a new vault has its database.
    guard !isDone, !notification.isWaiting, let created = created() else { return }
    // A program that writes into the vault's folder can choose that time.
    let now = Process.time
    guard !wasTold, created > now || now - created < Self.newsTime else {
      isDone = true
      return
    }
    let stores = FormerStore.allCases.filter { $0.isThere(home: home, owner: owner) }
    notification.show(Self.message(stores, othersWait: othersWait())) { [weak self] in self?.wasShown() }
  }

  /// Holds the notification back, perhaps until later.
  func hold() { notification.withdraw() }

  /// Whether the person has seen the notification. It is true also if nobody knows, because no notice is better than a notice at
  /// each login.
  private var wasTold: Bool {
    [Self.marker, Self.switchRecord].contains { name in
      var status = stat()
      return lstat(([home] + Self.folder + [name]).joined(separator: "/"), &status) == 0 || errno != ENOENT
    }
  }

  private func wasShown() {
    isDone = true
    do throws(PosixError) {
      let text = "The notification of the first login was shown.\n"
      try Folder.create(Self.folder, below: home, owner: owner)
        .write(Self.marker, Array(text.utf8).span.bytes, replacing: true)
    } catch {
      let path = (Self.folder + [Self.marker]).joined(separator: "/")
      Journal.log(.warning, "the next login shows the first notification again: ~/\(path) cannot be written: \(error)")
    }
  }

  private static func message(_ stores: [FormerStore], othersWait: Bool) -> DesktopNotification.Message {
    var sentences = [translated("Programs store their passwords in Latchkey's vault, which your login unlocks.")]
    if !stores.isEmpty {
      let (titles, commands) = (list(stores.map(\.title)), list(stores.map { "'\($0.command)'" }))
      sentences.append(
        translated("Your secrets in \(titles) are still there. To bring them over, run \(commands)."))
    }
    if othersWait {
      sentences.append(
        translated(
          "Another program that keeps secrets still runs. To make Latchkey the only one, run 'latchkey switch --to latchkey'."
        ))
    }
    sentences.append(
      access(machineRecord, F_OK) == 0
        ? translated("Your administrator chose Latchkey for all users.")
        : translated("To go back, run 'latchkey switch --back'."))
    sentences.append(translated("'man latchkey-switch' explains more."))
    return DesktopNotification.Message(
      title: translated("Latchkey keeps your secrets now"), text: sentences.joined(separator: " "), page: "moving-in")
  }

  private static func list(_ names: [String]) -> String {
    names.dropFirst().reduce(names.first ?? "") { translated("\($0) and \($1)") }
  }
}
