import LatchkeyKeybag
import LatchkeyPosix

/// A keybag that is damaged, missing or another vault's, and whose copy takes its place as soon as anybody looks.
extension Vault {
  /// Reads the keybag; where that needs its copy, after that took its place.
  func readKeybag(_ folder: borrowing Folder) -> Result<Keybag, KeybagError> {
    do throws(KeybagError) { return .success(try loadKeybag(folder)) } catch { return .failure(error) }
  }

  private func loadKeybag(_ folder: borrowing Folder) throws(KeybagError) -> Keybag {
    do throws(KeybagError) {
      let found = try KeybagFile.load(from: folder)
      guard found.vault != keybag?.vault, let copy = try? KeybagFile.copy(in: folder), isForeign(found, copy),
        healKeybag(folder)
      else { return found }
    } catch {
      guard healKeybag(folder) else { throw error }
    }
    return try KeybagFile.load(from: folder)
  }

  private func healKeybag(_ folder: borrowing Folder) -> Bool {
    // A database that is being healed has the vault's own keybag, which is looked at by the vault. Nor does this wait for a
    // helper that writes: the next call looks again.
    guard databaseName == KeybagFile.database else { return false }
    guard let healing = KeybagFile.heal(in: folder, deadline: 0, isForeign: { self.isForeign($0, $1) }) else {
      return false
    }
    keybagHealing = healing
    delegate?.wasHealed(healing)
    return true
  }

  /// The files that were put aside and are still there, damaged ones and another vault's: names in the vault's folder, without those
  /// of logs.
  public var damagedFiles: [String] {
    guard !home.isEmpty, let folder = try? KeybagFile.folder(home: home, owner: owner) else { return [] }
    return ((try? folder.names()) ?? []).filter { name in
      [KeybagFile.damagedPrefix, KeybagFile.foreignPrefix, DatabaseExchange.damagedPrefix].contains {
        name.hasPrefix($0)
      }
        && !name.hasSuffix("-wal")
    }.sorted()
  }

  /// Whether the database is the copy's and not the keybag's.
  private func isForeign(_ found: Keybag, _ copy: Keybag) -> Bool {
    copy.vault != found.vault && hasDatabase(of: copy.vault) && !hasDatabase(of: found.vault)
  }

  /// Whether the database is of that vault; where it cannot be read, whether a generation is.
  private func hasDatabase(of vault: [UInt8]) -> Bool {
    if let store = database.store { return store.vault == vault }
    if (try? Store(path: path + "/" + databaseName, vault: vault, mode: .unchanging)) != nil { return true }
    return history.generations.contains { (try? history.open($0, vault: vault)) != nil }
  }
}
