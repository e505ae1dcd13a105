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

  /// Those that are there.
  static func found() -> [OtherStore] {
    let home = Process.environment["HOME"] ?? ""
    let all = [
      OtherStore(title: "GNOME Keyring", command: "gnome-keyring", files: ".local/share/keyrings", hasPassword: true),
      OtherStore(title: "KWallet", command: "kwallet", files: ".local/share/kwalletd", hasPassword: true),
      OtherStore(title: "pass", command: "pass", files: ".password-store", hasPassword: false),
    ]
    return all.filter { store in
      guard let folder = opendir("\(home)/\(store.files)") else { return false }
      defer { closedir(folder) }
      while let entry = readdir(folder) {
        let isHidden = entry.pointee.d_name.0 == CChar(UInt8(ascii: "."))
        if !isHidden { return true }
      }
      return false
    }
  }
}
