import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// The vault of a login without a password. The vault depends on the device key alone, which opens it without a person.
extension Vault {
  /// Whether there is a keybag that can be read.
  public var hasKeybag: Bool { keybag != nil }

  /// Whether the keybag belongs to a login without a password.
  public var isPasswordless: Bool { keybagFile.isPasswordless }

  /// Opens a vault without a password.
  ///
  /// - Parameter lockedExplicitly: collections with an explicit lock, which are unlocked too.
  /// - Throws: ``VaultError/unavailable(_:)`` if the device key is another key, or its service does not answer.
  public func openByDevice(liftingLocksOf lockedExplicitly: Set<Int64> = []) throws(VaultError) {
    do throws(VaultError) {
      let secret = try device.presentSecret()
      let opened = try openBySecret(secret, liftingLocksOf: lockedExplicitly)
      passwordlessProblem = nil
      // The vault is unlocked. If the protector could not move to the new device key, the former key stays.
      do throws(VaultError) { try follow(opened) } catch { passwordlessProblem = error.reason }
      if let folder = try? place.folder() {
        KeybagFile.keepCopy(of: opened.keybag, in: folder, deadline: 0)
        confirm(opened, in: folder)
      }
    } catch {
      // After most failures the keys stay in memory.
      if !isUnlocked { passwordlessProblem = error.reason }
      throw error
    }
  }

  private func openBySecret(
    _ secret: borrowing DeviceSecret, liftingLocksOf lockedExplicitly: Set<Int64>
  ) throws(VaultError) -> Keybag.Opened {
    guard let keybag else { throw database.problem ?? .notCreated }
    let opened: Keybag.Opened
    do throws(KeybagError) { opened = try keybag.open(deviceSecret: secret.key) } catch {
      throw .unavailable(.of(.keybag, error.reason))
    }
    do {
      let tiers = try opened.tiers()
      try unlock(
        tiers, former: try opened.formerTiers(), opening: .everything, liftingLocks: true, of: lockedExplicitly,
        mayCreate: false)
    } catch let error as VaultError { throw error } catch { throw .unavailable(.of(.keybag, .keybag(.doesNotOpen))) }
    return opened
  }

  /// Ends the keybag's first generation: there is a database now, and a missing one will be a loss. No helper ends it for such a
  /// vault, because nobody gave a password. If it fails, the next opening tries again.
  private func confirm(_ opened: borrowing Keybag.Opened, in folder: borrowing Folder) {
    guard opened.keybag.awaitsDatabase, let next = try? opened.confirming(),
      (try? KeybagFile.replace(opened.keybag, with: next, in: folder)) != nil
    else { return }
    refresh()
  }

  /// If the device key moved, the protector moves too.
  private func follow(_ opened: borrowing Keybag.Opened) throws(VaultError) {
    guard let key = device.key, let present = opened.keybag.deviceProtector?.deviceWrapping,
      key.identity != present.identity
    else { return }
    let next = try device.newSecret(vault: opened.keybag.vault, protector: Sodium.randomBytes(16))
    do throws(KeybagError) {
      let folder = try place.folder()
      let moved = try opened.removingPassword(next, isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
      try KeybagFile.replace(opened.keybag, with: moved, in: folder)
    } catch { throw .unavailable(.of(.keybag, error.reason)) }
    refresh()
  }
}
