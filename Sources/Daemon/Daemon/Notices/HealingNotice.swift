import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd
import LatchkeyVault

/// Tells the person once, by the desktop's notifications, that a file of the vault was damaged or missing and was made again.
///
/// The names of the damaged files are kept as a record. So no later login reports a file again, and a healing from a time without a
/// daemon is still reported.
final class HealingNotice {
  private let notification = DesktopNotification()
  private let vault: Vault
  private let home: String
  private let owner: uid_t
  /// Whether a missing file was made again since the last notification.
  private var hasNews = false
  /// The files that this process reported, even if the record could not be written.
  private var shown: Set<String> = []

  private static let folder = [".local", "state", "latchkey"]
  /// The file with the names of the damaged files that the person has heard of, one a line.
  private static let record = "healing-notice"

  init(_ vault: Vault, home: String, owner: uid_t) { (self.vault, self.home, self.owner) = (vault, home, owner) }

  /// Shows the notification on this connection from now on.
  func use(_ bus: Bus) { notification.use(bus) }

  /// Notes that a file was made again.
  func wasHealed() { hasNews = true }

  /// Shows the notification: the vault is unlocked, and no locker is up.
  func tell() {
    guard !notification.isWaiting else { return }
    let damaged = vault.healing.filesAside
    guard hasNews || !Set(damaged).isSubset(of: shown.union(told)) else { return }
    let mayMiss = vault.healing.done?.mayMissItems ?? false
    notification.show(Self.message(damaged, mayMiss: mayMiss)) { [weak self] in
      self?.wasShown(damaged)
    }
  }

  /// Holds the notification back, perhaps until later.
  func hold() { notification.withdraw() }

  private var told: Set<String> {
    guard let folder = try? Folder(path: ([home] + Self.folder).joined(separator: "/"), owner: owner),
      let bytes = try? folder.read(Self.record, limit: 65536)
    else { return [] }
    return Set(String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init))
  }

  private func wasShown(_ damaged: [String]) {
    hasNews = false
    shown.formUnion(damaged)
    guard damaged.contains(where: { !told.contains($0) }) else { return }
    do throws(PosixError) {
      // Files that do not exist any more need no line.
      let text = damaged.map { $0 + "\n" }.joined()
      try Folder.create(Self.folder, below: home, owner: owner)
        .write(Self.record, Array(text.utf8).span.bytes, replacing: true)
    } catch {
      let path = (Self.folder + [Self.record]).joined(separator: "/")
      Journal.log(.warning, "the next login shows this notification again: ~/\(path) cannot be written: \(error)")
    }
  }

  /// The text has no label, because others may look at the screen.
  private static func message(_ damaged: [String], mayMiss: Bool) -> DesktopNotification.Message {
    var sentences = [
      translated("A file of the vault was damaged or missing. Latchkey made it again from a copy.")
    ]
    if mayMiss { sentences.append(translated("Some items may be missing, or be back in an earlier state.")) }
    if !damaged.isEmpty { sentences.append(translated("The damaged file is kept.")) }
    sentences.append(translated("'latchkey status' says what happened, and what to do."))
    return DesktopNotification.Message(
      title: translated("The vault was repaired"), text: sentences.joined(separator: " "), page: "health")
  }
}
