import Glibc
import LatchkeyPosix

/// Another program that left secrets in the home folder. Only the names of its files are checked, and no file is opened.
enum FormerStore: String, CaseIterable {
  case gnomeKeyring = "gnome-keyring"
  case kwallet
  case oo7

  /// The name by which people know the former store.
  var title: String { self == .kwallet ? "KWallet" : rawValue }

  /// The command that imports the store's secrets.
  var command: String { "latchkey import \(rawValue)" }

  /// The place where that command finds the store's files. `XDG_DATA_HOME` does not count, as for the vault's own folder.
  private var place: (folder: String, ending: String) {
    switch self {
    case .gnomeKeyring: ("keyrings", ".keyring")
    case .kwallet: ("kwalletd", ".kwl")
    case .oo7: ("keyrings/v1", ".keyring")
    }
  }

  /// Whether the program has a file there that the user can read. No link is followed, because the daemon must not wait for another
  /// disk.
  func isThere(home: String, owner: uid_t) -> Bool {
    guard let folder = try? Folder.local(".local/share/\(place.folder)", below: home, owner: owner),
      let names = try? folder.names()
    else { return false }
    for name in names where name.hasSuffix(place.ending) {
      var status = stat()
      if fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_size > 0, faccessat(folder.number, name, R_OK, 0) == 0
      {
        return true
      }
    }
    return false
  }
}
