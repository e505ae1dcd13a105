import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Which device key the vault depends on: the system service's where there is one, else a file beside the vault. One that
/// was in a file moves to the service; none moves back, and none is made in the place of one that is merely absent.
extension Vault {
  /// Where the device key is kept; nil without one.
  public var deviceBackend: DeviceKeyBackend? { device?.backend }

  /// Whether there should be a device key, but it cannot be used; ``problems`` says why.
  public var deviceIsMissing: Bool { keys.share == nil && keys.deviceProblem != nil }

  /// How many items only another device opens; 0 while it is not known which device this is.
  public func otherDeviceItemCount() throws(VaultError) -> Int64 {
    guard keys.share != nil else { return 0 }
    return try database.reading { store throws(VaultError) in
      var count: Int64 = 0
      for key in keys.collections.flatMap(\.classes) where key.absence(on: keys.share) == .otherDevice {
        count += try store.count(classKey: key.row.id, quarantined: false)
      }
      return count
    }
  }

  /// Finds the device key, and opens what it wraps in the database.
  ///
  /// - Parameter mayCreate: whether a key in a file may be made, where there is neither that nor a service.
  func openDevice(_ folder: borrowing Folder, mayCreate: Bool) throws(VaultError) {
    (device, keys.deviceProblem) = (nil, nil)
    let rows = try database.store?.devices() ?? []
    do throws(DeviceKeyError) { device = try chosenDevice(folder, rows: rows, mayCreate: mayCreate) } catch {
      // The line was made where it is known whose fault it is.
      keys.deviceProblem = error.reason
    }
    try openShare(rows)
  }

  private func chosenDevice(
    _ folder: borrowing Folder, rows: [DeviceRow], mayCreate: Bool
  ) throws(DeviceKeyError) -> (any DeviceKey)? {
    func isKnown(_ key: (any DeviceKey)?) -> Bool { rows.contains { $0.identity == key?.identity } }
    var served: (any DeviceKey)?
    var failure: DeviceKeyError?
    do throws(DeviceKeyError) { served = try service() } catch { failure = Vault.told(error, of: .host) }
    if isKnown(served) { return served }
    let mark: Bool
    do throws(DeviceKeyError) { mark = try ServiceMark(in: folder)?.isOf(machine) ?? false } catch { mark = true }
    // A key in a file that shares in the database depend on: these first in any case.
    var file: FileDeviceKey?
    let hasFile = folder.contains(FileDeviceKey.name)
    if hasFile || (mayCreate && served == nil && failure == nil && !mark) {
      do throws(DeviceKeyError) {
        file = try FileDeviceKey(folder: folder, machine: machine, mayCreate: mayCreate && !hasFile)
      } catch { throw Vault.told(error, of: .file) }
    }
    if isKnown(file) {
      if let failure { keys.deviceProblem = failure.reason }
      return file
    }
    if let served { return served }
    if let failure { throw failure }
    if mark {
      throw Vault.told(
        .unavailable(.device(.withService)), of: .host)
    }
    if let file { return file }
    throw Vault.told(.unavailable(.device(.fileMissing)), of: .file)
  }

  private static func told(_ error: DeviceKeyError, of backend: DeviceKeyBackend) -> DeviceKeyError {
    .unavailable(.of(backend.title, error.reason))
  }

  /// Opens this device's share and, with it, the index.
  private func openShare(_ rows: [DeviceRow]) throws(VaultError) {
    guard keys.share == nil, let device, let store = database.store,
      let row = rows.first(where: { $0.identity == device.identity })
    else {
      return
    }
    do throws(DeviceKeyError) { keys.share = try DeviceShare(row, vault: store.vault, device: device) } catch {
      keys.deviceProblem = .of(device.backend.title, error.reason)
      return
    }
    guard let found = try keys.share?.index(row, vault: store.vault) else { return }
    if let index = keys.index, try !index.isSame(as: found) {
      // That row was made without the password. Items that its index did not find may exist all the same.
      database.note(.damaged(.of(.database, .vault(.foreignDeviceRow))))
    }
    if keys.index == nil { keys.index = found }
  }

  /// Gives the vault its place on this device, at an unlock: with the service, where there is one now.
  func settleDevice() throws(VaultError) {
    guard !home.isEmpty, !isDamaged, let folder = try? KeybagFile.folder(home: home, owner: owner) else { return }
    // The service may keep its secret elsewhere by now. Asked at logins only: a TPM is slow, and nothing depends on it.
    if keys.chains.session == nil, keys.share != nil, let device, device.backend != .file,
      let served = try? service(), served.identity == device.identity
    {
      self.device = served
    }
    // The device key is gone or another device's. Items that depend on it stay as they are, and this device starts its own.
    if keys.share == nil, device == nil || keys.deviceProblem != nil { try openDevice(folder, mayCreate: true) }
    try adoptDevice(folder)
    try moveToService(folder)
  }

  /// Whether something is left to be done when the device key service answers: ``meetDevice()``.
  public var waitsForDevice: Bool { lacksDevice || waitingNote != nil }

  /// Whether it is more than a note that is left.
  private var lacksDevice: Bool { deviceIsMissing || (isUnsettled && isUnlocked) }

  /// Opens what needs the device key, where it could not be had when keys came, or at the start, and can now. Does what an
  /// unlock left out, and notes how far the files are where that was not noted then.
  public func meetDevice() throws(VaultError) {
    if isNotCreated { forgetProblemBeforeCreation() } else { try openMissingDevice() }
    noteAgain()
  }

  private var isNotCreated: Bool { keybag == nil && keybagProblem == nil && database.store == nil && !isDamaged }

  /// A device key that a first login could not have is no problem any more once the service answers: the next login creates
  /// the vault.
  private func forgetProblemBeforeCreation() {
    guard keys.deviceProblem != nil else { return }
    do throws(DeviceKeyError) {
      _ = try service()
      keys.deviceProblem = nil
    } catch { keys.deviceProblem = Vault.told(error, of: .host).reason }
  }

  private func openMissingDevice() throws(VaultError) {
    guard lacksDevice, let store = database.store, !isDamaged,
      let folder = try? KeybagFile.folder(home: home, owner: owner)
    else { return }
    isUnsettled = false
    guard keys.chains.session != nil else {
      try openDevice(folder, mayCreate: false)
      guard keys.share != nil else { return }
      for collection in keys.collections where !collection.row.locked {
        try collection.open(share: keys.share, vault: store.vault)
      }
      return
    }
    try whereThereIsRoom { () throws(VaultError) in try settleDevice() }
    guard keys.share != nil else { return }
    for collection in keys.collections where !collection.row.locked {
      try collection.open(share: keys.share, vault: store.vault)
    }
    guard isUnlocked else { return }
    try whereThereIsRoom { () throws(VaultError) in
      try endPasscodeItems()
      if !isPasswordless { try renewErasable() }
      // A change of keys may be what was left out. The index key has to wait for the next unlock: its wrapping key is gone.
      try renewKeys(indexUnder: nil)
      try endPasscodeItems()
      try makeMissingClasses()
    }
  }

  /// Gives a device that the vault has not met a share and the index key; needs the index.
  func adoptDevice(_ folder: borrowing Folder) throws(VaultError) {
    guard keys.share == nil, let device, let index = keys.index, let store = database.store, !isDamaged else { return }
    let known = try store.devices()
    guard !known.contains(where: { $0.identity == device.identity }) else { return }
    guard let last = ([0] + known.map(\.id)).max(), last < .max else {
      throw .damaged(.of(.database, .vault(.numberDamaged)))
    }
    let (share, row): (DeviceShare, DeviceRow)
    do throws(VaultError) {
      (share, row) = try DeviceShare.make(id: last + 1, vault: store.vault, device: device, index: index)
    } catch {
      if case .unavailable(let reason) = error { keys.deviceProblem = reason }
      throw error
    }
    if device.backend != .file { try mark(folder, ServiceMark(machine: machine)) }
    try database.writing { store throws(VaultError) in try store.insert(row) }
    keys.share = share
  }

  /// Runs what the next unlock can do as well. A full or read-only disk is no reason not to open what is there.
  func whereThereIsRoom(_ body: () throws(VaultError) -> Void) throws(VaultError) {
    do throws(VaultError) { try body() } catch {
      switch error {
      case .diskFull, .unavailable: isUnsettled = true
      default: throw error
      }
    }
  }

  /// Runs what needs the service, which the next unlock asks again.
  func whereThereIsService(_ body: () throws(VaultError) -> Void) throws(VaultError) {
    do throws(VaultError) { try body() } catch {
      guard case .unavailable = error, device?.backend != .file else { throw error }
    }
  }

  private func mark(_ folder: borrowing Folder, _ mark: ServiceMark) throws(VaultError) {
    do throws(PosixError) { try mark.write(in: folder) } catch {
      throw error.code == ENOSPC ? .diskFull : .unavailable(.of(.serviceMark, .verbatim(error.description)))
    }
  }

  /// Moves a share that depends on the key in a file to the service. The share stays the same, and so does all that depends on
  /// it. Whenever this is interrupted, one of the two opens it: the file goes last.
  private func moveToService(_ folder: borrowing Folder) throws(VaultError) {
    guard device?.backend == .file, let share = keys.share, let store = database.store else { return }
    let rows = try store.devices()
    let served: any DeviceKey
    let next: DeviceRow
    keys.deviceProblem = nil
    do throws(DeviceKeyError) {
      guard let found = try service(), !rows.contains(where: { $0.identity == found.identity }),
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
      isUnsettled = true
      return
    }
    try database.writing { store throws(VaultError) in try store.update(next) }
    (device, keys.deviceProblem) = (served, nil)
    movedKeyIsGone = false
    settle()
  }

  private func markMoved(_ row: DeviceRow, _ folder: borrowing Folder) throws(DeviceKeyError) {
    do throws(PosixError) { try ServiceMark(machine: machine, replaced: row.identity).write(in: folder) } catch {
      throw .unavailable(.of(.serviceMark, .verbatim(error.description)))
    }
  }

  /// Erases the key in a file once the service has taken its place, and the database as a whole says so on the disk. Where
  /// the database knows other devices, the file stays: one of them may use it.
  func eraseMovedKey() {
    guard !movedKeyIsGone, let store = database.store, let device, device.backend != .file, keys.share != nil,
      !home.isEmpty,
      keybag?.deviceProtector?.deviceWrapping?.identity ?? device.identity == device.identity,
      let rows = try? store.devices(), rows.map(\.identity) == [device.identity],
      let folder = try? KeybagFile.folder(home: home, owner: owner)
    else { return }
    do {
      try folder.finishErasing(FileDeviceKey.name)
      if folder.contains(FileDeviceKey.name), let mark = try ServiceMark(in: folder), mark.isOf(machine) {
        let file = try FileDeviceKey(folder: folder, machine: machine, mayCreate: false)
        if file.identity == mark.replaced { try folder.erase(FileDeviceKey.name) }
      }
      movedKeyIsGone = true
    } catch {}
  }
}
