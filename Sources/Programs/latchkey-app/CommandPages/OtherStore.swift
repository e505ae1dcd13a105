import Glibc
import LatchkeyGettext
import LatchkeyPosix

/// A store of another program whose files are in the person's home.
struct OtherStore {
  let title: String
  /// The command of `latchkey import`.
  let command: String
  let files: String
  /// Whether its files have a password, which the window asks for.
  let hasPassword: Bool

  /// The stores whose files exist.
  static func found() -> [OtherStore] {
    let home = Process.environment["HOME"] ?? ""
    let all = [
      OtherStore(title: "GNOME Keyring", command: "gnome-keyring", files: ".local/share/keyrings", hasPassword: true),
      OtherStore(title: "KWallet", command: "kwallet", files: ".local/share/kwalletd", hasPassword: true),
      OtherStore(title: "pass", command: "pass", files: ".password-store", hasPassword: false),
    ]
    return all.filter { store in
      let folder = "\(home)/\(store.files)"
      let names = try? FileDescriptor.open(folder, flags: O_RDONLY | O_DIRECTORY).names()
      return (names ?? []).contains { $0.utf8.first != UInt8(ascii: ".") }
    }
  }
}
