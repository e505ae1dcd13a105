import Glibc
import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// The device key that the vault depends on: the system service has it if there is a service, and otherwise a file beside the
/// vault. A key in a file moves to the service. No key moves back, and no new key replaces a key that is only unavailable.
public final class VaultDevice {
  private struct State {
    var key: (any DeviceKey)?
    /// Whether an unlock left some work undone, because the device key or the disk could not be used.
    var isUnsettled = false
    /// Whether no file has a key any more that the service has taken over. False if this is unknown.
    var movedKeyIsGone = false
  }

  private let place: VaultPlace
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let keybag: VaultKeybag
  private var state = State()

  init(_ place: VaultPlace, _ database: VaultDatabase, _ keys: VaultKeys, _ keybag: VaultKeybag) {
    (self.place, self.database, self.keys, self.keybag) = (place, database, keys, keybag)
  }

  /// Forgets everything about the files, like a new object.
  func forget() { (state, keys.deviceProblem) = (State(), nil) }

  /// The vault's device key, if the key can be used.
  var key: (any DeviceKey)? { state.key }

  /// The place where the device key is kept; nil if there is none.
  public var backend: DeviceKeyBackend? { key?.backend }

  /// Whether the vault needs a device key that cannot be used; ``Vault/problems`` says why.
  public var isMissing: Bool { keys.share == nil && keys.deviceProblem != nil }

  /// Whether ``Vault/meetDevice()`` can do work that an unlock left undone, or can open more than the unlock did.
  var isLacking: Bool { isMissing || (state.isUnsettled && keys.isUnlocked) }

  /// Forgets the undone work, because an unlock begins and will do it, or because the database was closed.
  func begin() { state.isUnsettled = false }

  // MARK: - items of others

  /// The number of items that only another device can open; 0 while this device is unknown.
  public func itemCountOfOthers() throws(VaultError) -> Int64 {
    guard keys.share != nil else { return 0 }
    return try database.reading { store throws(VaultError) in
      var count: Int64 = 0
      for key in keys.collections.flatMap(\.classes) where key.absence(on: keys.share) == .otherDevice {
        count += try store.count(classKey: key.row.id, quarantined: false)
      }
      return count
    }
  }

  // MARK: - finding

  /// Finds the device key, and opens the values that this key wraps in the database.
  ///
  /// - Parameter mayCreate: whether a key in a file may be made, if there is neither a file with a key nor a service.
  func open(_ folder: borrowing Folder, mayCreate: Bool) throws(VaultError) {
    (state.key, keys.deviceProblem) = (nil, nil)
    let rows = try database.store?.devices() ?? []
    do throws(DeviceKeyError) { state.key = try chosenKey(folder, rows: rows, mayCreate: mayCreate) } catch {
      // The problem was noted at the place that knows its cause.
      keys.deviceProblem = error.reason
    }
    try openShare(rows)
  }

  private func chosenKey(
    _ folder: borrowing Folder, rows: [DeviceRow], mayCreate: Bool
  ) throws(DeviceKeyError) -> (any DeviceKey)? {
    func isKnown(_ key: (any DeviceKey)?) -> Bool { rows.contains { $0.identity == key?.identity } }
    var served: (any DeviceKey)?
    var failure: DeviceKeyError?
    do throws(DeviceKeyError) { served = try place.service() } catch { failure = Self.told(error, of: .host) }
    if isKnown(served) { return served }
    let mark: Bool
    do throws(DeviceKeyError) { mark = try ServiceMark(in: folder)?.isOf(place.machine) ?? false } catch { mark = true }
    // The key in a file, if shares in the database depend on it. Such a key always comes first.
    var file: FileDeviceKey?
    let hasFile = folder.contains(FileDeviceKey.name)
    if hasFile || (mayCreate && served == nil && failure == nil && !mark) {
      do throws(DeviceKeyError) {
        file = try FileDeviceKey(folder: folder, machine: place.machine, mayCreate: mayCreate && !hasFile)
      } catch { throw Self.told(error, of: .file) }
    }
    if isKnown(file) {
      if let failure { keys.deviceProblem = failure.reason }
      return file
    }
    if let served { return served }
    if let failure { throw failure }
    if mark {
      throw Self.told(.unavailable(.device(.withService)), of: .host)
    }
    if let file { return file }
    throw Self.told(.unavailable(.device(.fileMissing)), of: .file)
  }

  private static func told(_ error: DeviceKeyError, of backend: DeviceKeyBackend) -> DeviceKeyError {
    .unavailable(.of(backend.title, error.reason))
  }

  /// Opens this device's share and, with it, the index.
  private func openShare(_ rows: [DeviceRow]) throws(VaultError) {
    guard keys.share == nil, let key, let store = database.store,
      let row = rows.first(where: { $0.identity == key.identity })
    else {
      return
    }
    do throws(DeviceKeyError) { keys.share = try DeviceShare(row, vault: store.vault, device: key) } catch {
      keys.deviceProblem = .of(key.backend.title, error.reason)
      return
    }
    guard let found = try keys.share?.index(row, vault: store.vault) else { return }
    if let index = keys.index, try !index.isSame(as: found) {
      // Somebody made the device's row without the password. So the index of this row may lack items that exist.
      database.note(.damaged(.of(.database, .vault(.foreignDeviceRow))))
    }
    if keys.index == nil { keys.index = found }
  }

  /// Connects the vault with this device at an unlock: with the service, if there is one now.
  func settle() throws(VaultError) {
    guard !place.isMemory, !database.isDamaged, let folder = try? place.folder() else { return }
    // The service's secret may have moved by now. Only logins ask for its place, because a TPM is slow and nothing depends on the
    // answer.
    if keys.chains.session == nil, keys.share != nil, let key, key.backend != .file,
      let served = try? place.service(), served.identity == key.identity
    {
      state.key = served
    }
    // The device key is lost or another device's. Items that depend on it stay unchanged, and this device gets its own share.
    if keys.share == nil, key == nil || keys.deviceProblem != nil { try open(folder, mayCreate: true) }
    try adopt(folder)
    try moveToService(folder)
  }

  /// Whether the service can be used by now, for a vault that does not exist yet. If so, the device key that a first login could
  /// not get is no problem any more, and the next login creates the vault.
  func forgetProblemBeforeCreation() {
    guard keys.deviceProblem != nil else { return }
    do throws(DeviceKeyError) {
      _ = try place.service()
      keys.deviceProblem = nil
    } catch { keys.deviceProblem = Self.told(error, of: .host).reason }
  }

  /// Gives a device that the vault has not met a share and the index key; This needs the index.
  func adopt(_ folder: borrowing Folder) throws(VaultError) {
    guard keys.share == nil, let key, let index = keys.index, let store = database.store, !database.isDamaged else {
      return
    }
    let known = try store.devices()
    guard !known.contains(where: { $0.identity == key.identity }) else { return }
    guard let last = ([0] + known.map(\.id)).max(), last < .max else {
      throw .damaged(.of(.database, .vault(.numberDamaged)))
    }
    let (share, row): (DeviceShare, DeviceRow)
    do throws(VaultError) {
      (share, row) = try DeviceShare.make(id: last + 1, vault: store.vault, device: key, index: index)
    } catch {
      if case .unavailable(let reason) = error { keys.deviceProblem = reason }
      throw error
    }
    if key.backend != .file { try mark(folder, ServiceMark(machine: place.machine)) }
    try database.writing { store throws(VaultError) in try store.insert(row) }
    keys.share = share
  }

  /// Runs work that the next unlock can also do. The vault still opens with a full or read-only disk.
  func whereThereIsRoom(_ body: () throws(VaultError) -> Void) throws(VaultError) {
    do throws(VaultError) { try body() } catch {
      switch error {
      case .diskFull, .unavailable: state.isUnsettled = true
      default: throw error
      }
    }
  }

  /// Runs work that needs the service. The next unlock asks the service again.
  func whereThereIsService(_ body: () throws(VaultError) -> Void) throws(VaultError) {
    do throws(VaultError) { try body() } catch {
      guard case .unavailable = error, backend != .file else { throw error }
    }
  }

  private func mark(_ folder: borrowing Folder, _ mark: ServiceMark) throws(VaultError) {
    do throws(PosixError) { try mark.write(in: folder) } catch {
      throw error.code == ENOSPC ? .diskFull : .unavailable(.of(.serviceMark, .verbatim(error.description)))
    }
  }

  /// Moves a share that depends on the key in a file to the service. The share, and everything that depends on it, stays the same.
  /// After an interruption the file or the service opens the share, because the file is erased last.
  private func moveToService(_ folder: borrowing Folder) throws(VaultError) {
    guard backend == .file, let share = keys.share, let store = database.store else { return }
    let rows = try store.devices()
    let served: any DeviceKey
    let next: DeviceRow
    keys.deviceProblem = nil
    do throws(DeviceKeyError) {
      guard let found = try place.service(), !rows.contains(where: { $0.identity == found.identity }),
        let row = rows.first(where: { $0.id == share.row })
      else { return }
      served = found
      next = try share.moved(row, to: served, vault: store.vault)
      // A wrapping that cannot be unwrapped must not become the only copy.
      let again = try DeviceShare(next, vault: store.vault, device: served)
      guard again.isSame(as: share) else { throw .unavailable(.device(.otherSecret)) }
      try markMoved(row, folder)
    } catch {
      keys.deviceProblem = .of(DeviceKeyBackend.host.title, error.reason)
      state.isUnsettled = true
      return
    }
    try database.writing { store throws(VaultError) in try store.update(next) }
    (state.key, keys.deviceProblem) = (served, nil)
    state.movedKeyIsGone = false
    settleDatabase()
  }

  private func markMoved(_ row: DeviceRow, _ folder: borrowing Folder) throws(DeviceKeyError) {
    do throws(PosixError) { try ServiceMark(machine: place.machine, replaced: row.identity).write(in: folder) } catch {
      throw .unavailable(.of(.serviceMark, .verbatim(error.description)))
    }
  }

  /// Moves the pages of the log into the database, empties the log, and erases a key file that the service has replaced. A failure
  /// loses nothing; the next call tries again.
  func settleDatabase() {
    if database.settle() { eraseMovedKey() }
  }

  /// Erases the key in a file, after the service has replaced it and the whole database on the disk depends on the service. If the
  /// database knows other devices, the file stays, because another device may use it.
  private func eraseMovedKey() {
    guard !state.movedKeyIsGone, let store = database.store, let key, key.backend != .file, keys.share != nil,
      !place.isMemory,
      keybag.keybag?.deviceProtector?.deviceWrapping?.identity ?? key.identity == key.identity,
      let rows = try? store.devices(), rows.map(\.identity) == [key.identity],
      let folder = try? place.folder()
    else { return }
    do {
      try folder.finishErasing(FileDeviceKey.name)
      if folder.contains(FileDeviceKey.name), let mark = try ServiceMark(in: folder), mark.isOf(place.machine) {
        let file = try FileDeviceKey(folder: folder, machine: place.machine, mayCreate: false)
        if file.identity == mark.replaced { try folder.erase(FileDeviceKey.name) }
      }
      state.movedKeyIsGone = true
    } catch {}
  }

  // MARK: - secrets of protectors

  /// The secret of the keybag's protector, which the device key unwraps.
  public func presentSecret() throws(VaultError) -> DeviceSecret {
    guard let keybag = keybag.keybag, let protector = keybag.deviceProtector, let wrapping = protector.deviceWrapping
    else { throw .unavailable(.vault(.hasPassword)) }
    let device = try key(of: wrapping.identity)
    do throws(DeviceKeyError) {
      return DeviceSecret(
        protector: protector.id, wrapping: wrapping,
        key: try device.unwrap(
          wrapping.wrapped, .bound, context: DeviceSecret.context(vault: keybag.vault, protector: protector.id)))
    } catch { throw .unavailable(.of(device.backend.title, error.reason)) }
  }

  /// A new secret for the protector with that name, wrapped by this machine's device key. The vault may not exist yet.
  public func newSecret(vault: [UInt8], protector: [UInt8]) throws(VaultError) -> DeviceSecret {
    if key == nil { try open(try place.openFolder(), mayCreate: database.store == nil) }
    guard let device = key else { throw .unavailable(keys.deviceProblem ?? .device(.noKey)) }
    let secret = try VaultError.sodium(.subject(.deviceKey)) { () throws(SodiumError) in try Key.random() }
    let wrapped: [UInt8]
    do throws(DeviceKeyError) {
      wrapped = try device.wrap(secret, .bound, context: DeviceSecret.context(vault: vault, protector: protector))
    } catch { throw .unavailable(.of(device.backend.title, error.reason)) }
    guard let wrapping = DeviceSecret.Wrapping(identity: device.identity, wrapped: wrapped) else {
      throw .unavailable(.of(device.backend.title, .device(.unknownKind)))
    }
    return DeviceSecret(protector: protector, wrapping: wrapping, key: secret)
  }

  /// The device key with that identity, in the service or in a file. During a move, protector and database may name different
  /// device keys.
  private func key(of identity: [UInt8]) throws(VaultError) -> any DeviceKey {
    if let key, key.identity == identity { return key }
    var problem = Reason.of(.keybag, .keybag(.onlyOtherDevice))
    do throws(DeviceKeyError) {
      if let served = try place.service(), served.identity == identity { return served }
    } catch { problem = .of(DeviceKeyBackend.host.title, error.reason) }
    do {
      let folder = try place.folder()
      if folder.contains(FileDeviceKey.name) {
        let file = try FileDeviceKey(folder: folder, machine: place.machine, mayCreate: false)
        if file.identity == identity { return file }
      }
    } catch {}
    throw .unavailable(problem)
  }

  // MARK: - backups

  /// A new key for this device's items in a backup, and the same key wrapped by the device; nil without a device key.
  func makeBackupSeal(id: [UInt8]) throws(VaultError) -> (BackupDevice?, BackupSeal?) {
    guard let device = key, let share = keys.share else { return (nil, nil) }
    let context = BackupDevice.context(id: id)
    do {
      let key = try Key.random()
      let wrapped = BackupDevice(
        identity: device.identity, byKey: try device.wrap(key, .bound, context: context),
        byShare: AEAD.seal(key.bytes, key: try share.bound.key.derive(.backupDeviceWrap, [id]), associated: context))
      return (wrapped, BackupSeal(try key.duplicate(), id: id))
    } catch { throw .outOfMemory }
  }

  /// The key that ``makeBackupSeal(id:)`` made on this device; nil for another device's.
  func openBackupSeal(_ wrapped: BackupDevice, id: [UInt8]) throws(VaultError) -> BackupSeal? {
    let context = BackupDevice.context(id: id)
    if let share = keys.share {
      do throws(SodiumError) {
        let wrap = try share.bound.key.derive(.backupDeviceWrap, [id])
        return BackupSeal(try Key(try AEAD.open(wrapped.byShare.span.bytes, key: wrap, associated: context)), id: id)
      } catch {
        if error == .outOfMemory { throw .outOfMemory }
      }
    }
    guard let device = key else { return nil }
    do throws(DeviceKeyError) {
      return BackupSeal(try device.unwrap(wrapped.byKey, .bound, context: context), id: id)
    } catch {
      guard case .unavailable(let reason) = error else { return nil }
      throw .unavailable(.of(.deviceKey, reason))
    }
  }
}
