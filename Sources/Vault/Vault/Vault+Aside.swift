import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons

/// A vault that is put aside, so that the next login creates another one.
extension Vault {
  /// Whether there is anything of a vault, be it damaged.
  public var isThere: Bool {
    guard let folder = try? place.folder() else { return false }
    return folder.contains(KeybagFile.name) || folder.contains(KeybagFile.database)
  }

  /// Whether there is no vault, and its home folder could take one. A home folder that is not mounted yet, or not the user's,
  /// says nothing of its vault, and neither does a data folder that cannot be opened.
  public var isMissing: Bool {
    guard hasNoDatabaseYet, keybag == nil, !isThere, !hasObstacle,
      let folder = try? Folder(path: place.home, owner: place.owner)
    else { return false }
    return faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS) == 0
  }

  /// Whether a part of the vault's path is there and does not open, as a link to a disk that is not mounted.
  private var hasObstacle: Bool {
    var path = place.home
    for name in KeybagFile.folderNames {
      path += "/" + name
      var file = stat()
      guard lstat(path, &file) == 0 else { return false }
      guard (try? FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)) != nil else { return true }
    }
    return false
  }

  /// Whether nobody gave a password yet: there is no vault, or a keybag that still waits for its database.
  public var hasNoDatabaseYet: Bool { database.isNotCreated }

  /// Whether the login password creates what is missing, once it is given. System accounts get no vault.
  public var awaitsPassword: Bool {
    guard hasNoDatabaseYet else { return false }
    return keybag == nil ? !Vault.isSystemAccount(place.owner) && isMissing : !isPasswordless
  }

  /// Whether nobody's password can create what is missing, because the disk of the home folder is full.
  public var lacksRoom: Bool {
    hasNoDatabaseYet && KeybagFile.lacksRoom(home: place.home, owner: place.owner)
  }

  /// Whether that account gets no vault, whoever gives its password.
  public static func isSystemAccount(_ owner: uid_t) -> Bool { owner < Account.firstPersonUID }

  /// Why there is no vault, for a person who wants to store something in it.
  public var lack: Reason {
    if Vault.isSystemAccount(place.owner) { return .vault(.systemAccount) }
    guard lacksRoom else { return VaultError.notCreated.reason }
    return .notCreatedForRoom(mebibytes: Int(KeybagFile.leastRoom >> 20))
  }

  /// Gives the folder another name, beside the one that it has, and changes nothing in it. There is no vault then.
  ///
  /// One step of the file system's: whenever this is interrupted, the vault is at the one place or at the other.
  ///
  /// - Parameter name: where something has it already, a number is added.
  /// - Returns: where it is then.
  public func setAside(as name: String) throws(VaultError) -> String {
    seal()
    settle()
    lastItemAside = lastItemBefore()
    // The database is closed before its path is another one.
    forgetFiles()
    defer { refresh() }
    var free = name
    for number in 2...10 {
      do throws(KeybagError) {
        try KeybagFile.setAside(home: place.home, owner: place.owner, as: free)
        break
      } catch {
        // One more within the same second.
        guard error == .alreadyThere, number < 10 else {
          throw .unavailable(.of(.folder, error.reason))
        }
        free = "\(name)-\(number)"
      }
    }
    return "\(KeybagFile.sharePath(home: place.home))/\(free)"
  }

  /// The number after which those of the next vault's items begin.
  private func lastItemBefore() -> Int64 {
    // A counter that somebody set to the end of all numbers would leave none for what comes.
    if !database.isDamaged, let last = try? reader.lastItem(), last < 1 << 62 { return max(lastItemAside, last) }
    // Nobody can say which numbers a damaged vault had.
    let start = Int64.random(in: 1 << 51..<1 << 52)
    return lastItemAside < 1 << 61 ? lastItemAside + start : start
  }
}
