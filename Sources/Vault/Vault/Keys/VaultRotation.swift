import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The progress of a change of keys.
public struct RotationProgress: Equatable, Sendable {
  /// Items whose keys the rotation must still wrap under new class keys.
  public var left: Int64 = 0
  /// Items of locked collections, which follow when their collections are unlocked.
  public var closed: Int64 = 0
  /// Items of other devices, which the rotation reaches on those devices.
  public var otherDevice: Int64 = 0
  /// Items that somebody else put into the vault. They are never opened, so their keys are never wrapped again.
  public var quarantined: Int64 = 0
}

/// A change of keys. The keybag gets new tier keys first, beside the former ones. Then one transaction gives every unlocked
/// collection new class keys, and wraps the former class keys and the index key again. Item keys follow, a few at a time. After an
/// interruption, the next unlock finds the keys of both key epochs, and goes on.
public final class VaultRotation {
  private struct State {
    /// The newest key epoch.
    var epoch: UInt32 = 1
    /// The key epoch that the index key is wrapped under.
    var indexEpoch: UInt32 = 1
  }

  private let database: VaultDatabase
  private let keys: VaultKeys
  private let keybag: VaultKeybag
  private let device: VaultDevice
  private let passcode: VaultPasscode
  private let reader: ItemReader
  private let accessLog: AccessLog
  private var state = State()

  init(
    _ database: VaultDatabase, _ keys: VaultKeys, _ keybag: VaultKeybag, _ device: VaultDevice,
    _ passcode: VaultPasscode, _ reader: ItemReader, _ accessLog: AccessLog
  ) {
    (self.database, self.keys, self.keybag) = (database, keys, keybag)
    (self.device, self.passcode, self.reader, self.accessLog) = (device, passcode, reader, accessLog)
  }

  /// Forgets everything about the files, like a new object.
  func forget() { state = State() }

  // MARK: - key epochs

  /// The newest key epoch.
  var epoch: UInt32 { state.epoch }

  /// The key epoch that the index key is wrapped under.
  var indexEpoch: UInt32 { state.indexEpoch }

  /// Whether the index depends on the newest tier keys.
  var isThrough: Bool { indexEpoch == epoch }

  private var isIndexBehind: Bool { indexEpoch < epoch }

  /// The oldest key epoch that something depends on.
  public var neededEpoch: UInt32 {
    keys.collections.reduce(min(indexEpoch, epoch, accessLog.epoch)) { min($0, UInt32(clamping: $1.row.epoch)) }
  }

  /// A new database depends on the newest tier keys alone.
  func begin(_ keybag: Keybag) { state = State(epoch: keybag.epoch.number, indexEpoch: keybag.epoch.number) }

  /// Notes the key epochs of the keys that the vault has got.
  ///
  /// - Parameter indexEpoch: the epoch whose key opened the index.
  func meet(indexEpoch: UInt32) { state = State(epoch: keybag.keybag?.epoch.number ?? 1, indexEpoch: indexEpoch) }

  /// The index, opened by tier key C, and the key epoch that the index key is wrapped under. While a change of keys is under way,
  /// this is a former epoch.
  func openIndex(
    _ tier: borrowing Key, _ former: [FormerTiers], _ store: Store
  ) throws(VaultError) -> (index: SealedIndex, epoch: UInt32) {
    let row = try store.vaultRow()
    func open(_ session: borrowing Key) throws(SodiumError) -> SealedIndex {
      try SealedIndex(
        opening: row.indexKey, key: try session.derive(.indexWrap, [store.vault]), vault: store.vault)
    }
    return try VaultError.sodium(.vault(.indexKey)) { () throws(SodiumError) in
      do throws(SodiumError) { return (try open(tier), keybag.keybag?.epoch.number ?? 1) } catch {
        guard error == .decryptionFailed else { throw error }
      }
      for one in former.reversed() {
        do throws(SodiumError) { return (try open(one.tiers.session), one.number) } catch {
          guard error == .decryptionFailed else { throw error }
        }
      }
      throw .decryptionFailed
    }
  }

  /// The key that wraps the index key, derived from this tier key C.
  func wrapOfIndex(_ tier: borrowing Key) throws(VaultError) -> Key {
    let vault = try database.ready().vault
    do { return try tier.derive(.indexWrap, [vault]) } catch { throw .outOfMemory }
  }

  // MARK: - new class keys

  /// Whether keys could be changed now.
  ///
  /// - Throws: the reason if the keys cannot be changed now.
  public func checkMayBegin() throws(VaultError) {
    _ = try database.writable()
    guard keys.isUnlocked else { throw .isLocked }
    guard database.isVerified else { throw .unavailable(.vault(.stillChecked)) }
  }

  /// Gives new class keys to every unlocked collection whose class keys are older than the newest tier keys. When this returns, all
  /// changes are on the disk; after an error, none is.
  ///
  /// - Parameter wrap: the key that wraps the index key from now on; nil if it is unknown, and the wrapping stays.
  func renewKeys(indexUnder wrap: HeldKey?) throws(VaultError) {
    let behind = keys.collections.filter { !$0.isLockedByItself && $0.isBehind }
    let others = keys.collections.filter { !$0.isLockedByItself && !$0.keysUnderFormer(keys.share).isEmpty }
    guard !behind.isEmpty || !others.isEmpty || isIndexBehind else { return try forgetFormerKeys() }
    if behind.count == keys.collections.count { try passcode.noticeErasure() }
    let index = try keys.readyIndex()
    let renewed = try database.writing { store throws(VaultError) in
      if let wrap, isIndexBehind {
        var row = try store.vaultRow()
        row.indexKey = try SealedIndex(index, generation: keys.generation).sealed(under: wrap.key, vault: store.vault)
        try store.update(row)
      }
      // A new share is made only if all collections are renewed: otherwise some keys would still depend on the old share, and could
      // not be wrapped again.
      var next = keys.share
      if let share = keys.share, let deviceKey = device.key, behind.count == keys.collections.count {
        let (made, row) = try DeviceShare.make(
          id: share.row, vault: store.vault, device: deviceKey, index: index)
        try store.update(row)
        next = made
      }
      var rotations: [CollectionRotation] = []
      for collection in behind { rotations.append(try collection.rotate(share: keys.share, next: next, in: store)) }
      for collection in others { rotations.append(try collection.rewrapUnderNewest(share: keys.share, in: store)) }
      return (rotations: rotations, share: next)
    }
    if wrap != nil { state.indexEpoch = epoch }
    for rotation in renewed.rotations { rotation.collection.adopt(rotation) }
    if let share = renewed.share { keys.share = share }
    try forgetFormerKeys()
  }

  /// Notes which collections need only the newest tier keys, because nothing in them depends on former keys any more.
  private func forgetFormerKeys() throws(VaultError) {
    for collection in keys.collections where collection.row.epoch < UInt64(epoch) {
      let needsFormer = try database.reading { store throws(VaultError) in
        try collection.needsFormer(store, share: keys.share)
      }
      guard !needsFormer else { continue }
      var row = collection.row
      row.epoch = UInt64(epoch)
      let removed = try database.writing { store throws(VaultError) in
        try store.update(row)
        return try collection.removeOutdated(in: store)
      }
      collection.drop(removed)
      collection.adopt(row)
    }
  }

  // MARK: - item keys

  /// The classes whose items need newer keys, and can get them now.
  private var outdated: [(collection: OpenCollection, key: ClassKey)] {
    var found: [(collection: OpenCollection, key: ClassKey)] = []
    for collection in keys.collections where !collection.isLockedByItself {
      for key in collection.classes where collection.isOutdated(key) && !collection.isForeign(key, keys.share) {
        guard key.secretKey != nil, key.metadataKey != nil,
          let target = collection.current(key.row.accessibility, share: keys.share), !collection.isOutdated(target),
          target.secretKey != nil, target.metadataKey != nil
        else { continue }
        found.append((collection, key))
      }
    }
    return found
  }

  /// Whether any item key can be wrapped under a newer class key now.
  public var isUnderWay: Bool { !outdated.isEmpty }

  /// Whether anything depends on former tier keys, as far as the rows tell before the first unlock.
  public var needsFormerKeys: Bool {
    guard let keybag = keybag.keybag else { return false }
    return keybag.epochs.count > 1 && neededEpoch < keybag.epoch.number
  }

  /// The time for which one call of ``step(for:)`` keeps clients waiting, in milliseconds.
  public static let stepTime = 10

  /// Wraps the keys of a few items under the newest keys of their classes. Class keys that no item needs any more are
  /// erased.
  ///
  /// - Returns: whether there is more to do now.
  public func step(for time: Int = VaultRotation.stepTime) throws(VaultError) -> Bool {
    guard !database.isDamaged, database.store != nil else { return false }
    let outdated = outdated
    guard !outdated.isEmpty else { return false }
    let end = Process.now + time
    var emptied: [(collection: OpenCollection, key: ClassKey)] = []
    let isUnfinished = try database.writing { store throws(VaultError) in
      for (collection, key) in outdated {
        while true {
          let batch = try store.items(classKey: key.row.id, limit: 16)
          for id in batch {
            try moveToNewestKeys(id, of: store)
            // Each call wraps at least one item, even a large one.
            if Process.now >= end { return true }
          }
          if batch.isEmpty { break }
        }
        guard try !store.hasItems(classKey: key.row.id) else { continue }
        try store.deleteClassKey(key.row.id)
        emptied.append((collection, key))
      }
      return false
    }
    for (collection, key) in emptied { collection.drop([key]) }
    if isUnfinished { return true }
    try forgetFormerKeys()
    // The log has the former keys until it is emptied.
    device.settleDatabase()
    return false
  }

  /// The progress of a change of keys. All numbers are zero if there was no change, or it is finished.
  public func progress() throws(VaultError) -> RotationProgress {
    try database.reading { store throws(VaultError) in
      var progress = RotationProgress()
      for collection in keys.collections {
        if collection.isLockedByItself && collection.row.epoch < UInt64(epoch) {
          for key in collection.classes {
            progress.closed += try store.count(classKey: key.row.id, quarantined: false)
          }
          continue
        }
        for key in collection.classes where collection.isOutdated(key) {
          let count = try store.count(classKey: key.row.id, quarantined: false)
          if collection.isForeign(key, keys.share) { progress.otherDevice += count } else { progress.left += count }
          progress.quarantined += try store.count(classKey: key.row.id, quarantined: true)
        }
      }
      return progress
    }
  }

  /// Wraps an item's key, and seals its label, under the newest keys of its class.
  func moveToNewestKeys(_ id: Int64, of store: Store) throws(VaultError) {
    var item = try reader.locate(id)
    guard let target = item.collection.current(item.accessibility, share: keys.share),
      let opened = try reader.metadata(item), try item.rewrap(opened, under: target)
    else { return }
    try store.rewrap(item.row)
  }
}
