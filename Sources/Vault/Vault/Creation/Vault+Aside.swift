import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons

/// Sets a vault aside, so that the next login creates another vault.
extension Vault {
  /// Whether any file of a vault exists, even a damaged one.
  public var isThere: Bool {
    guard let folder = try? place.folder() else { return false }
    return folder.contains(KeybagFile.name) || folder.contains(KeybagFile.database)
  }

  /// Whether there is no vault, and the home folder is ready for one. If the home folder is not mounted yet, or is not the user's,
  /// nobody knows whether it has a vault. The same holds for a data folder that cannot be opened.
  public var isMissing: Bool {
    guard hasNoDatabaseYet, keybag == nil, !isThere, !hasObstacle,
      let folder = try? Folder(path: place.home, owner: place.owner)
    else { return false }
    return faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS) == 0
  }

  /// Whether a part of the vault's path exists and does not open, such as a link to a disk that is not mounted.
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

  /// Whether nobody has given a password yet: there is no vault, or there is a keybag that still waits for its database.
  public var hasNoDatabaseYet: Bool { database.isNotCreated }

  /// Whether the next login password creates the missing files. System accounts get no vault.
  public var awaitsPassword: Bool {
    guard hasNoDatabaseYet else { return false }
    return keybag == nil ? !Vault.isSystemAccount(place.owner) && isMissing : !isPasswordless
  }

  /// Whether no password can create the missing files, because the disk of the home folder is full.
  public var lacksRoom: Bool {
    hasNoDatabaseYet && KeybagFile.lacksRoom(home: place.home, owner: place.owner)
  }

  /// Whether the vault's account gets no vault, even with its password.
  public static func isSystemAccount(_ owner: uid_t) -> Bool { owner < Account.firstPersonUID }

  /// The reason why there is no vault, for a person who wants to store something.
  public var lack: Reason {
    if Vault.isSystemAccount(place.owner) { return .vault(.systemAccount) }
    guard lacksRoom else { return VaultError.notCreated.reason }
    return .notCreatedForRoom(mebibytes: Int(KeybagFile.leastRoom >> 20))
  }

  /// Renames the vault's folder within its parent folder, and changes nothing in it. Afterwards there is no vault.
  ///
  /// This is one step of the file system. So after an interruption, the vault has either its former name or the new name.
  ///
  /// - Parameter name: the new name. If a file has that name already, a number is added.
  /// - Returns: the vault's new path.
  public func setAside(as name: String) throws(VaultError) -> String {
    seal()
    settle()
    lastItemAside = lastItemBefore()
    // The database must be closed before its path changes.
    forgetFiles()
    defer { refresh() }
    var free = name
    for number in 2...10 {
      do throws(KeybagError) {
        try KeybagFile.setAside(home: place.home, owner: place.owner, as: free)
        break
      } catch {
        // Another vault that was put aside in the same second has this name.
        guard error == .alreadyThere, number < 10 else {
          throw .unavailable(.of(.folder, error.reason))
        }
        free = "\(name)-\(number)"
      }
    }
    return "\(KeybagFile.sharePath(home: place.home))/\(free)"
  }

  /// The numbers of the next vault's items begin after this number.
  private func lastItemBefore() -> Int64 {
    // If somebody set the counter to the highest number, no number would be left for the next items.
    if !database.isDamaged, let last = try? reader.lastItem(), last < 1 << 62 { return max(lastItemAside, last) }
    // The numbers of a damaged vault are unknown.
    let start = Int64.random(in: 1 << 51..<1 << 52)
    return lastItemAside < 1 << 61 ? lastItemAside + start : start
  }
}
