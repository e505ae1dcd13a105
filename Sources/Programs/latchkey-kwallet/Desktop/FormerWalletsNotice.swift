import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd

/// Tells the person once that former wallets are still in KWallet's files, and how to import them. It reads only the names of
/// files.
final class FormerWalletsNotice {
  private let bus: Bus
  /// Whether the notice was shown, or is being shown.
  private var isDone = false

  private static let folder = [".local", "state", "latchkey"]
  /// The file that records that the notice was shown.
  private static let marker = "kwallet-notice"
  /// The file that records imports. A person who has imported something knows the command.
  private static let imports = "imported.json"

  init(_ bus: Bus) { self.bus = bus }

  /// Called when a program opens a wallet. Shows the notice if it is due.
  func tell() {
    guard !isDone else { return }
    isDone = true
    let environment = LatchkeyPosix.Process.environment
    guard let home = environment["HOME"] else { return }
    let data = environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? "\(home)/.local/share"
    let state = "\(home)/\(Self.folder.joined(separator: "/"))"
    guard access("\(state)/\(Self.marker)", F_OK) != 0, access("\(state)/\(Self.imports)", F_OK) != 0,
      let folder = try? Folder.local("kwalletd", below: data, owner: getuid()),
      (try? folder.names())?.contains(where: { $0.hasSuffix(".kwl") }) == true
    else { return }
    show { [weak self] isShown in
      // If no program shows notifications yet, the next opened wallet tries again.
      if isShown { Self.note(home) } else { self?.isDone = false }
    }
  }

  private func show(_ shown: @escaping (Bool) -> Void) {
    let title = translated("KDE's programs keep their passwords in Latchkey now")
    let text = translated(
      "Passwords from before are still in KWallet's files. To bring them over, run 'latchkey import kwallet'.")
    do throws(BusError) {
      try bus.notify(title, text) { reply in
        if case .success = reply { shown(true) } else { shown(false) }
      }
    } catch { shown(false) }
  }

  private static func note(_ home: String) {
    let text = "The notification of wallets in KWallet's files was shown.\n"
    do throws(PosixError) {
      try Folder.create(folder, below: home, owner: getuid())
        .write(marker, Array(text.utf8).span.bytes, replacing: true)
    } catch { Journal.log(.warning, "the notification of former wallets will be shown again: \(error)") }
  }
}
