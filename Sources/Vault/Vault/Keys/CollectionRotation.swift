import LatchkeyKeybag
import LatchkeySodium

/// The changes in one collection after a rotation of the tier keys. Every class gets new keys. The former class keys are
/// wrapped under the newest tier keys, so that only classes of other devices need the former tier keys.
struct CollectionRotation {
  let collection: OpenCollection
  fileprivate let rewrapped: [(key: ClassKey, row: ClassKeyRow)]
  fileprivate let removed: [ClassKey]
  fileprivate let made: [ClassKey]
}

extension OpenCollection {
  /// Class keys with a lower number are from before the last change of keys. The whenUnlocked key is made first, and only with
  /// the collection and at such a change.
  private var newestGeneration: Int64 {
    classes.last { $0.row.accessibility == .whenUnlocked }?.row.id ?? 0
  }

  /// Whether the class has newer keys, or gets them when its device unlocks the vault.
  func isOutdated(_ key: ClassKey) -> Bool { key.row.id < newestGeneration }

  /// Whether the collection's class keys are older than the newest tier keys.
  ///
  /// A single old class key counts too. No rotation leaves such a key, but anybody who had the former tier keys could have put it
  /// there.
  var isBehind: Bool {
    guard unlocked != nil else { return false }
    return classes.contains {
      !isOutdated($0) && $0.secretKey != nil && $0.row.accessibility.tier != .device && $0.epoch < epoch
    }
  }

  /// Classes of this device that are still wrapped under former tier keys, although newer keys exist because another device
  /// changed them.
  func keysUnderFormer(_ share: DeviceShare?) -> [ClassKey] {
    guard !isBehind, unlocked != nil else { return [] }
    return classes.filter {
      !isForeign($0, share) && $0.row.accessibility.tier != .device && $0.secretKey != nil && $0.epoch < epoch
    }
  }

  /// Whether the class needs a share that only another device has.
  func isForeign(_ key: ClassKey, _ share: DeviceShare?) -> Bool {
    key.row.device != nil && key.row.device != share?.row
  }

  /// Whether anything in the collection depends on former tier keys.
  func needsFormer(_ store: Store, share: DeviceShare?) throws(VaultError) -> Bool {
    if isLockedByItself || isBehind || session == nil || unlocked == nil { return true }
    if !keysUnderFormer(share).isEmpty { return true }
    for key in classes where key.row.accessibility.tier != .device && isOutdated(key) {
      guard isForeign(key, share) || key.secretKey == nil else { continue }
      if try store.hasItems(classKey: key.row.id) { return true }
    }
    return try store.hasItemsStoredWhileLocked(in: row.id)
  }

  /// Writes everything that the newest tier keys change. After the transaction, the caller gives the result to ``adopt(_:)``.
  ///
  /// - Parameters:
  ///   - share: the device's present share.
  ///   - next: the share that replaces the present one.
  func rotate(
    share: DeviceShare?, next: DeviceShare?, in store: Store
  ) throws(VaultError) -> CollectionRotation {
    let above = above(next)
    var rewrapped: [(key: ClassKey, row: ClassKeyRow)] = []
    var removed: [ClassKey] = []
    for key in classes {
      guard try store.hasItems(classKey: key.row.id) else {
        try store.deleteClassKey(key.row.id)
        removed.append(key)
        continue
      }
      let changed =
        isForeign(key, share)
        ? try key.recopied(vault: store.vault, collection: row.uuid, above: above)
        : try key.rewrapped(vault: store.vault, collection: row.uuid, above: above)
      // A class stays unchanged if its keys are missing, because it is another device's, or because its erasable share was erased.
      guard let changed else { continue }
      try store.update(changed)
      rewrapped.append((key, changed))
    }
    var made: [ClassKey] = []
    for accessibility in AccessibilityClass.allCases {
      let id = try store.nextID(.classKey)
      let new = try ClassKey.make(
        id: id, vault: store.vault, collection: row, accessibility: accessibility, above: above)
      guard let new else { continue }
      try store.insert(new)
      let key = ClassKey(new)
      try key.open(vault: store.vault, collection: row.uuid, above: [above])
      made.append(key)
    }
    return CollectionRotation(collection: self, rewrapped: rewrapped, removed: removed, made: made)
  }

  /// Wraps the keys of ``keysUnderFormer(_:)`` under the newest tier keys. The caller gives the result to ``adopt(_:)`` too.
  func rewrapUnderNewest(share: DeviceShare?, in store: Store) throws(VaultError) -> CollectionRotation {
    let above = above(share)
    var rewrapped: [(key: ClassKey, row: ClassKeyRow)] = []
    for key in keysUnderFormer(share) {
      guard let changed = try key.rewrapped(vault: store.vault, collection: row.uuid, above: above) else { continue }
      try store.update(changed)
      rewrapped.append((key, changed))
    }
    return CollectionRotation(collection: self, rewrapped: rewrapped, removed: [], made: [])
  }

  /// Erases classes that have newer keys and that no item needs: without former tier keys they would not open any more.
  func removeOutdated(in store: Store) throws(VaultError) -> [ClassKey] {
    var removed: [ClassKey] = []
    for key in classes where isOutdated(key) {
      guard try !store.hasItems(classKey: key.row.id) else { continue }
      try store.deleteClassKey(key.row.id)
      removed.append(key)
    }
    return removed
  }

  /// Takes over the rows that were written to the disk.
  func adopt(_ rotation: CollectionRotation) {
    for (key, row) in rotation.rewrapped { key.adopt(row, epoch: epoch) }
    drop(rotation.removed)
    adopt(rotation.made)
  }
}
