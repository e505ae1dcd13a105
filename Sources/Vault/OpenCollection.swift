import Keybag
import Sodium

/// One collection, with whatever keys of it are in memory.
final class OpenCollection {
  var row: CollectionRow
  /// Its own tier key A. Nil while locked.
  private(set) var unlocked: HeldKey?
  /// Its own tier key C. Nil while sealed.
  private(set) var session: HeldKey?
  private(set) var classes: [ClassKey] = []

  init(_ row: CollectionRow, classes rows: [ClassKeyRow]) {
    self.row = row
    classes = rows.map { ClassKey($0) }
  }

  /// Takes over tier keys and opens every class that they, and the device's share, allow.
  func open(unlocked: HeldKey?, session: HeldKey?, share: DeviceShare?, vault: [UInt8]) throws(VaultError) {
    if let unlocked { self.unlocked = unlocked }
    if let session { self.session = session }
    let above = ClassKey.Above(unlocked: self.unlocked, session: self.session, share: share)
    for key in classes { try key.open(vault: vault, collection: row.uuid, above: above) }
  }

  /// Makes the classes that this device has no keys for yet. The caller gives them to ``adopt(_:)`` when they are on the
  /// disk.
  func makeMissingClasses(share: DeviceShare?, in store: Store) throws(VaultError) -> [ClassKey] {
    var missing: [ClassKey] = []
    let above = ClassKey.Above(unlocked: unlocked, session: session, share: share)
    for accessibility in AccessibilityClass.allCases where current(accessibility, share: share) == nil {
      let made = try ClassKey.make(
        id: try store.nextID(.classKey), vault: store.vault, collection: row, accessibility: accessibility,
        above: above)
      guard let made else { continue }
      try store.insert(made)
      let key = ClassKey(made)
      try key.open(vault: store.vault, collection: row.uuid, above: above)
      missing.append(key)
    }
    return missing
  }

  /// Takes over classes that were made.
  func adopt(_ made: [ClassKey]) {
    classes += made
  }

  /// The class's newest keys that this device can use.
  func current(_ accessibility: AccessibilityClass, share: DeviceShare?) -> ClassKey? {
    classes.last {
      $0.row.accessibility == accessibility && ($0.row.device == nil || $0.row.device == share?.row)
    }
  }

  func evict() {
    unlocked = nil
    for key in classes { key.evict() }
  }

  func seal() {
    evict()
    session = nil
    for key in classes { key.seal() }
  }

  func erase() {
    (unlocked, session) = (nil, nil)
    for key in classes { key.erase() }
  }
}
