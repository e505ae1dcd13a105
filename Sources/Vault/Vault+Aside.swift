import Keybag
import Posix

/// A vault that is put aside, so that the next login founds another one.
extension Vault {
  /// Whether there is anything of a vault, be it damaged.
  public var isThere: Bool {
    guard let folder = try? KeybagFile.folder(home: home, owner: owner) else { return false }
    return folder.contains(KeybagFile.name) || folder.contains(KeybagFile.database)
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
    // The database is closed before its path is another one.
    forgetFiles()
    defer { refresh() }
    var free = name
    for number in 2...10 {
      do throws(KeybagError) {
        try KeybagFile.setAside(home: home, owner: owner, as: free)
        break
      } catch {
        // One more within the same second.
        guard error == .alreadyThere, number < 10 else {
          throw .unavailable("the vault's folder: \(error.explanation)")
        }
        free = "\(name)-\(number)"
      }
    }
    return "\(KeybagFile.sharePath(home: home))/\(free)"
  }
}
