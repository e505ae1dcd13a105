import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// A login without a password: its vault depends on the device key alone, which opens it without anybody.
extension Vault {
  /// Whether there is a keybag that can be read.
  public var hasKeybag: Bool { keybag != nil }

  /// Whether the keybag is of such a login.
  public var isPasswordless: Bool { keybag?.isPasswordless ?? false }

  /// Opens a vault without a password.
  ///
  /// - Parameter lockedExplicitly: collections that were locked by themselves and open as well.
  /// - Throws: ``VaultError/unavailable(_:)`` where the device key is another, or does not answer.
  public func openByDevice(liftingLocksOf lockedExplicitly: Set<Int64> = []) throws(VaultError) {
    do throws(VaultError) {
      let secret = try presentDeviceSecret()
      let opened = try openBySecret(secret, liftingLocksOf: lockedExplicitly)
      passwordlessProblem = nil
      // The vault is unlocked. If the protector could not follow, the key that it depends on stays.
      do throws(VaultError) { try follow(opened) } catch { passwordlessProblem = error.reason }
      if let folder = try? KeybagFile.folder(home: home, owner: owner) {
        KeybagFile.keepCopy(of: opened.keybag, in: folder, deadline: 0)
        confirm(opened, in: folder)
      }
    } catch {
      // A failure leaves the keys in memory in most cases.
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

  /// Ends the keybag's first generation: there is a database now, and a missing one will be a loss. No helper does so, as nobody gave
  /// a password. If it fails, the next opening tries again.
  private func confirm(_ opened: borrowing Keybag.Opened, in folder: borrowing Folder) {
    guard opened.keybag.awaitsDatabase, let next = try? opened.confirming(),
      (try? KeybagFile.replace(opened.keybag, with: next, in: folder)) != nil
    else { return }
    refresh()
  }

  /// Where the device key moved elsewhere, the protector moves after it.
  private func follow(_ opened: borrowing Keybag.Opened) throws(VaultError) {
    guard let device, let present = opened.keybag.deviceProtector?.deviceWrapping,
      device.identity != present.identity
    else { return }
    let next = try newDeviceSecret(vault: opened.keybag.vault, protector: Sodium.randomBytes(16))
    do throws(KeybagError) {
      let folder = try KeybagFile.folder(home: home, owner: owner)
      let moved = try opened.removingPassword(next, isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
      try KeybagFile.replace(opened.keybag, with: moved, in: folder)
    } catch { throw .unavailable(.of(.keybag, error.reason)) }
    refresh()
  }

  /// The secret of the keybag's protector, which the device key unwraps.
  public func presentDeviceSecret() throws(VaultError) -> DeviceSecret {
    guard let keybag, let protector = keybag.deviceProtector, let wrapping = protector.deviceWrapping else {
      throw .unavailable(.vault(.hasPassword))
    }
    let device = try deviceKey(wrapping.identity)
    do throws(DeviceKeyError) {
      return DeviceSecret(
        protector: protector.id, wrapping: wrapping,
        key: try device.unwrap(
          wrapping.wrapped, .bound, context: DeviceSecret.context(vault: keybag.vault, protector: protector.id)))
    } catch { throw .unavailable(.of(device.backend.title, error.reason)) }
  }

  /// A new secret for the protector of that name, which this machine's device key has wrapped. There need not be a vault.
  public func newDeviceSecret(vault: [UInt8], protector: [UInt8]) throws(VaultError) -> DeviceSecret {
    if device == nil {
      let folder: Folder
      do throws(KeybagError) { folder = try KeybagFile.folder(home: home, owner: owner) } catch {
        throw .unavailable(.of(.folder, error.reason))
      }
      try openDevice(folder, mayCreate: database.store == nil)
    }
    guard let device else { throw .unavailable(keys.deviceProblem ?? .device(.noKey)) }
    let key = try VaultError.sodium(.subject(.deviceKey)) { () throws(SodiumError) in try Key.random() }
    let wrapped: [UInt8]
    do throws(DeviceKeyError) {
      wrapped = try device.wrap(key, .bound, context: DeviceSecret.context(vault: vault, protector: protector))
    } catch { throw .unavailable(.of(device.backend.title, error.reason)) }
    guard let wrapping = DeviceSecret.Wrapping(identity: device.identity, wrapped: wrapped) else {
      throw .unavailable(.of(device.backend.title, .device(.unknownKind)))
    }
    return DeviceSecret(protector: protector, wrapping: wrapping, key: key)
  }

  /// The device key of that identity, wherever it is: while it moves, protector and database may name different ones.
  private func deviceKey(_ identity: [UInt8]) throws(VaultError) -> any DeviceKey {
    if let device, device.identity == identity { return device }
    var problem = Reason.of(.keybag, .keybag(.onlyOtherDevice))
    do throws(DeviceKeyError) {
      if let served = try service(), served.identity == identity { return served }
    } catch { problem = .of(DeviceKeyBackend.host.title, error.reason) }
    do {
      let folder = try KeybagFile.folder(home: home, owner: owner)
      if folder.contains(FileDeviceKey.name) {
        let file = try FileDeviceKey(folder: folder, machine: machine, mayCreate: false)
        if file.identity == identity { return file }
      }
    } catch {}
    throw .unavailable(problem)
  }
}
