import LatchkeyKeybag
import LatchkeyPosix

/// Destroys the items of whenPasscodeSetThisDeviceOnly when the login loses its password. First the device erases the secret on
/// which the class depends, so that former copies of the vault cannot open these items either.
public final class VaultPasscode {
  private struct State {
    /// Items that were destroyed; see ``takeDestroyed()``.
    var destroyed: [FoundItem] = []
    /// Whether this program had the device erase the secret that the items depended on, and has not replaced the secret yet.
    var itemsAreDead = false
  }

  private let place: VaultPlace
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let keybag: VaultKeybag
  private let device: VaultDevice
  private let history: History
  private var state = State()

  init(
    _ place: VaultPlace, _ database: VaultDatabase, _ keys: VaultKeys, _ keybag: VaultKeybag, _ device: VaultDevice,
    _ history: History
  ) {
    (self.place, self.database, self.keys) = (place, database, keys)
    (self.keybag, self.device, self.history) = (keybag, device, history)
  }

  /// Forgets everything about the files, like a new object.
  func forget() { state = State() }

  /// Destroys every item of whenPasscodeSetThisDeviceOnly of this device: the device's erasable secret, then keys in memory,
  /// then rows. The next ``Vault/settle()`` clears SQLite's log.
  ///
  /// This needs no key. It erases the secret even if there is no database, because a missing or damaged database may be put back
  /// later. An interruption after the first step leaves items that nothing can read; the next call, or the next unlock, removes
  /// them.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` if there is no device key. Then nothing was destroyed.
  public func destroyItems() throws(VaultError) {
    let folder = try place.openFolder()
    for device in try devicesOfItems(folder) {
      do throws(DeviceKeyError) { try device.eraseErasable(in: folder) } catch {
        throw .unavailable(.of(device.backend.title, error.reason))
      }
    }
    forgetErasable()
    state.itemsAreDead = true
    // No key opens the rows that cannot be removed now.
    guard database.store != nil, !database.isDamaged else { return }
    try finishDestruction()
  }

  /// Destroys the items if the keybag says that the login has no password. If the login has a password, removes the rest of items
  /// that were destroyed before.
  func endItems() throws(VaultError) {
    guard keybag.isPasswordless, let share = keys.share, !share.isErased else { return try finishDestruction() }
    try destroyItems()
  }

  /// The places that may have the erasable secret of this device's items.
  private func devicesOfItems(_ folder: borrowing Folder) throws(VaultError) -> [any DeviceKey] {
    guard database.store == nil else {
      // If the database does not know the key in a file, it may be another device's. So that key's secret stays.
      guard let device = device.key, keys.share != nil || device.backend != .file else {
        throw .unavailable(keys.deviceProblem ?? VaultKeys.strangeDevice)
      }
      return [device]
    }
    // Only the database tells which place has the secret.
    var devices: [any DeviceKey] = []
    do throws(DeviceKeyError) { if let served = try place.service() { devices.append(served) } } catch {
      throw .unavailable(.of(DeviceKeyBackend.host.title, error.reason))
    }
    guard folder.contains(FileDeviceKey.name) else { return devices }
    do throws(DeviceKeyError) {
      devices.append(try FileDeviceKey(folder: folder, machine: place.machine, mayCreate: false))
    } catch {
      // If somebody has put such a file there, it must not prevent the destruction of items that depend on the service.
      if devices.isEmpty { throw .unavailable(.of(.deviceFile, error.reason)) }
    }
    return devices
  }

  /// Whether the device may still have the secret that the items of the class depend on, or whether rows of such items still exist.
  /// This does not believe the database's rows about the device, because any program that can write into the vault's folder could
  /// remove them.
  public var mayHaveItems: Bool {
    guard state.itemsAreDead else { return true }
    guard let share = keys.share else { return database.store != nil }
    return !share.isErased || keys.collections.contains { $0.classes.contains { Self.isPasscodeKey($0, of: share) } }
  }

  /// Whether a class key belongs to this class and this device.
  private static func isPasscodeKey(_ key: ClassKey, of share: DeviceShare) -> Bool {
    key.row.accessibility == .whenPasscodeSetThisDeviceOnly && key.row.device == share.row
  }

  /// The items that were destroyed since the last call, for the signals of their end.
  public func takeDestroyed() -> [FoundItem] {
    defer { state.destroyed = [] }
    return state.destroyed
  }

  /// Erases the share's erasable secret in memory, and every key that depends on it.
  private func forgetErasable() {
    keys.share = keys.share?.withoutErasable
    for key in keys.collections.flatMap(\.classes) where key.row.accessibility == .whenPasscodeSetThisDeviceOnly {
      key.erase()
    }
  }

  /// Asks the device whether it still has the erasable secret that the share depends on. This must come before the keys get another
  /// secret, because destroyed items would otherwise come back. If the device has erased the secret, the items that depend on it
  /// are removed.
  func noticeErasure() throws(VaultError) {
    if let device = device.key, let share = keys.share, !share.isErased {
      let vault = try database.ready().vault
      guard let row = try database.ready().devices().first(where: { $0.id == share.row }) else { return }
      let present: DeviceShare
      do throws(DeviceKeyError) { present = try DeviceShare(row, vault: vault, device: device) } catch {
        throw .unavailable(.of(device.backend.title, error.reason))
      }
      if present.isErased { forgetErasable() }
    }
    try finishDestruction()
  }

  /// Removes the rows that depend on an erasable secret that this device has erased.
  func finishDestruction() throws(VaultError) {
    guard let share = keys.share, share.isErased else { return }
    let dead = keys.collections.map { $0.classes.filter { Self.isPasscodeKey($0, of: share) } }
    guard dead.contains(where: { !$0.isEmpty }) else { return }
    let removed = try database.writing { store throws(VaultError) in
      var removed: [FoundItem] = []
      for key in dead.joined() {
        for place in try store.places(classKey: key.row.id) {
          removed.append(
            FoundItem(
              id: place.item, collection: key.row.collection, readability: .locked, modified: place.modified))
          _ = try store.deleteItem(place.item)
        }
        try store.deleteClassKey(key.row.id)
      }
      return removed
    }
    for (collection, keys) in zip(keys.collections, dead) { collection.drop(keys) }
    state.destroyed += removed
    // Generations have the rows too. A generation that cannot be removed keeps only rows that no key opens.
    try? history.removeAll()
  }

  /// Gives the device's share a new erasable secret, when nothing depends on the erased secret any more. With a password, the class
  /// may have items again.
  func renewErasable() throws(VaultError) {
    guard let store = database.store, let device = device.key, let share = keys.share, share.isErased,
      !database.isDamaged,
      let row = try store.devices().first(where: { $0.id == share.row })
    else { return }
    let (next, renewed) = try share.renewingErasable(row, on: device, vault: store.vault)
    state.itemsAreDead = false
    try database.writing { store throws(VaultError) in try store.update(renewed) }
    keys.share = next
  }
}
