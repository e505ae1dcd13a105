import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Hears of items that are better protected than their former versions.
protocol TighteningObserver: AnyObject {
  /// The former versions of the item with this uuid opened with less than the item requires from now on.
  func tighten(_ uuid: [UInt8])
}

/// Creates, changes and deletes a vault's items. A version of an item is sealed first (``SealedItem``), then written in one
/// transaction. When a call returns, all of it is on the disk, or nothing changed.
public final class ItemWriter {
  private let database: VaultDatabase
  private let keys: VaultKeys
  private let reader: ItemReader
  /// The number after which ``rewrapStoredWhileLocked(limit:)`` continues.
  private var rewrapPosition: Int64 = 0
  private let observer: any TighteningObserver

  init(_ database: VaultDatabase, _ keys: VaultKeys, _ reader: ItemReader, observer: any TighteningObserver) {
    self.database = database
    self.keys = keys
    self.reader = reader
    self.observer = observer
  }

  // MARK: - a new item

  /// Stores an item. The database's file is checked only at the beginning, because nothing else runs before the row is written.
  ///
  /// - Throws: ``VaultError/isLocked`` when an item would be replaced that cannot be read now, or when the class does
  ///   not accept new items while it is locked; ``VaultError/deviceMissing``; ``VaultError/duplicate``.
  public func createItem(_ new: consuming NewItem, secret: borrowing SecureBytes) throws(VaultError) -> StoredItem {
    let named: AccessControl
    do throws(AccessControl.Mistake) { named = try AccessControl(rawValue: new.metadata.flags) } catch {
      throw .badAccessControl(error)
    }
    _ = try database.ready()
    let collection = try keys.collection(new.collection)
    let store = try database.writable()
    _ = try keys.readyIndex()
    try checkIsNew(new.unique)
    guard secret.count <= SealedItem.secretLimit else { throw .tooLarge }
    if collection.isLockedByItself { throw .isLocked }
    if new.replaces, let same = try reader.same(new.metadata.attributes, in: new.collection) {
      let twins = reader.open(same.twin.map { [$0] } ?? [])
      try replace(same.newest.item, new, named, secret: secret, removing: twins, in: store)
      return StoredItem(id: same.newest.item, isNew: false, removed: twins)
    }
    // The row's default class is not used, because no key protects that column. Somebody who can write the column could otherwise
    // have secrets stored in a class that they can open.
    let wanted = new.accessibility ?? new.defaultClass
    try keys.checkPasscode(for: wanted)
    guard let key = collection.current(wanted, share: keys.share) else {
      throw collection.absence(of: wanted, share: keys.share)
    }
    let now = Process.time
    let id = try database.reading { store throws(VaultError) in try store.nextID(.item) }
    let row = ItemRow(
      id: id, uuid: Sodium.randomBytes(16), collection: new.collection, classKey: key.row.id, form: .wrapped,
      created: min(new.times.created ?? now, now),
      modified: min(new.times.modified ?? now, now), metadata: [], itemKey: [], lockedTag: nil, access: nil, secret: [],
      tokens: [])
    var item = SealedItem(vault: store.vault, row: row, collection: collection, key: key, share: keys.share)
    let passphraseKey = try bind(&item, to: named, passphrase: new.passphrase.take())
    try seal(&item, new.metadata, secret: secret, modified: item.row.modified, passphraseKey: passphraseKey)
    reader.isUnused = false
    try database.writing(to: store) { store throws(VaultError) in try store.insert(item.row) }
    return StoredItem(id: id, isNew: true, removed: [])
  }

  /// Replaces an item with the same attributes by a new item.
  private func replace(
    _ id: Int64, _ new: consuming NewItem, _ named: AccessControl, secret: borrowing SecureBytes,
    removing twins: [Int64], in store: Store
  ) throws(VaultError) {
    var item = try reader.locate(id)
    // This comes last, because asking may use up the grant.
    let grant = new.granted(id)
    let (present, old) = try reader.readable(item, grant)
    let control = named.requiresAnything ? named : old
    // A separate question changes the requirements and the class.
    guard !old.requiresAnything || (control == old && new.accessibility ?? item.accessibility == item.accessibility)
    else { throw .keepsItsAccess }
    var next = new.metadata
    next.flags = control.rawValue
    // A replacement keeps the remembered fingers, because other fingers would be a change too.
    next.fingers = present.fingers ?? next.fingers
    let key = try bind(&item, to: control, passphrase: new.passphrase.take(), kept: grant?.passphraseKey)
    try write(
      try rewritten(item, next, secret: secret, accessibility: new.accessibility, passphraseKey: key),
      removing: twins, in: store)
  }

  /// Throws if an item already has all these attributes; does nothing if there are none.
  ///
  /// - Throws: ``VaultError/duplicate``.
  public func checkIsNew(_ unique: [String: String]) throws(VaultError) {
    guard !unique.isEmpty else { return }
    guard try reader.search(.attributes(unique)).isEmpty else { throw .duplicate }
  }

  // MARK: - another version of an item

  /// Gives an item a new secret. The item must be readable.
  public func setSecret(
    ofItem id: Int64, _ secret: borrowing SecureBytes, contentType: String, granted: AccessGrant? = nil
  ) throws(VaultError) {
    let item = try reader.locate(id)
    var next = try reader.readable(item, granted).metadata
    next.contentType = contentType
    let store = try database.writable()
    try write(
      try rewritten(item, next, secret: secret, accessibility: nil, passphraseKey: granted?.passphraseKey), in: store)
  }

  /// Changes label or attributes, and the class if one is named. The secret stays as it is.
  ///
  /// - Throws: ``VaultError/isLocked`` while the item is locked.
  public func update(
    item id: Int64, accessibility: AccessibilityClass? = nil, granted: AccessGrant? = nil,
    _ change: (inout ItemMetadata) -> Void
  ) throws(VaultError) {
    let row = try updated(item: id, accessibility: accessibility, granted: granted, change)
    try write(row, in: try database.writable())
  }

  /// Changes items, but not their secrets. It changes all items or none, and each is named once.
  ///
  /// - Parameter granted: the person's grant for an item that requires something.
  /// - Throws: as ``update(item:accessibility:granted:_:)``; ``VaultError/duplicate`` if an item would not be the only one with
  ///   attributes that it alone may have. Only the state after all changes counts, so items may exchange their attributes.
  public func write(
    _ updates: [ItemUpdate], granted: (Int64) -> AccessGrant? = { _ in nil }
  ) throws(VaultError) {
    var sealed = SealedUpdates()
    for update in updates {
      let row = try updated(item: update.item, accessibility: update.accessibility, granted: granted(update.item)) {
        update.apply(to: &$0)
      }
      try sealed.append(row, unique: try tokens(of: update.unique))
    }
    try write(sealed)
  }

  /// Changes items that also get another secret. All these items must be readable now.
  public func write(
    _ updates: [ItemUpdate], secret: borrowing SecureBytes, contentType: String,
    granted: (Int64) -> AccessGrant? = { _ in nil }
  ) throws(VaultError) {
    var sealed = SealedUpdates()
    for update in updates {
      let item = try reader.locate(update.item)
      let grant = granted(update.item)
      var next = try reader.readable(item, grant).metadata
      if let accessibility = update.accessibility { try checkMayMove(item, to: accessibility) }
      update.apply(to: &next)
      next.contentType = contentType
      _ = try database.writable()
      let row = try rewritten(
        item, next, secret: secret, accessibility: update.accessibility, passphraseKey: grant?.passphraseKey)
      try sealed.append(row, unique: try tokens(of: update.unique))
    }
    try write(sealed)
  }

  private func write(_ updates: SealedUpdates) throws(VaultError) {
    let claims = updates.rows.map(\.unique).filter { !$0.isEmpty }
    guard Set(claims).count == claims.count else { throw .duplicate }
    for (row, _) in updates.rows where try isTightening(row) { observer.tighten(row.uuid) }
    try database.writing { store throws(VaultError) in
      for (row, _) in updates.rows { try store.update(row) }
      for (row, unique) in updates.rows where !unique.isEmpty {
        for place in try store.places(withTokens: unique) {
          guard place.item == row.id else { throw VaultError.duplicate }
        }
      }
    }
  }

  /// - Parameters:
  ///   - isTightening: whether the item's requirements change in a way that its row does not show.
  ///   - twins: items that go in the same step.
  ///   - store: the store that ``VaultDatabase/writable()`` gave to this call.
  private func write(
    _ row: ItemRow, isTightening: Bool = false, removing twins: [Int64] = [], in store: Store
  ) throws(VaultError) {
    // This comes before the write. If the write then fails, a former version is lost, which is a smaller harm than a version with
    // less protection.
    let requiresMore = try self.isTightening(row)
    if isTightening || requiresMore { observer.tighten(row.uuid) }
    try database.writing(to: store) { store throws(VaultError) in
      try store.update(row)
      for twin in twins { _ = try store.deleteItem(twin) }
    }
  }

  /// Whether a row requires more, or something else, than the row that it replaces.
  private func isTightening(_ row: ItemRow) throws(VaultError) -> Bool {
    let old = try database.reading { store throws(VaultError) in try ItemProtections(store).of(uuid: row.uuid) }
    guard let old else { return false }
    if row.access != nil, row.access != old.access { return true }
    guard old.classKey != row.classKey, let before = keys.classKey(old.classKey)?.1.row.accessibility,
      let after = keys.classKey(row.classKey)?.1.row.accessibility
    else { return false }
    return before.joined(with: after) != before
  }

  private func tokens(of unique: [String: String]) throws(VaultError) -> [[UInt8]] {
    unique.isEmpty ? [] : try keys.readyIndex().tokens(of: unique)
  }

  /// Gives an item other access control, and another class if one is named. The item's secret is encrypted again, because it is
  /// bound to the flags.
  ///
  /// - Parameters:
  ///   - passphrase: a new passphrase; nil keeps the present one, if the item still needs one.
  ///   - fingers: the fingers that are enrolled now; nil keeps the remembered fingers.
  ///   - granted: the grant for the item's present requirements, without which nothing is weakened.
  public func setAccess(
    ofItem id: Int64, _ control: AccessControl, accessibility: AccessibilityClass? = nil,
    passphrase: consuming NewItemPassphrase? = nil, fingers: FingerSet? = nil, granted: AccessGrant? = nil
  ) throws(VaultError) {
    var item = try reader.locate(id)
    guard let opened = try reader.metadata(item) else { throw item.absence }
    let former = try reader.noting { () throws(VaultError) in try item.check(granted, opened) }
    let secret = try reader.openSecret(item, opened, checked: former, passphraseKey: granted?.passphraseKey)
    var next = opened.metadata
    next.flags = control.rawValue
    if let fingers { next.fingers = fingers }
    let held = try bind(&item, to: control, passphrase: passphrase.take(), kept: granted?.passphraseKey)
    let store = try database.writable()
    try write(
      try rewritten(item, next, secret: secret, accessibility: accessibility, passphraseKey: held),
      isTightening: control.requiresAnything, in: store)
  }

  /// Puts access control into a row that is about to be sealed.
  ///
  /// - Parameters:
  ///   - passphrase: a new passphrase.
  ///   - kept: the key of the present passphrase.
  /// - Returns: the passphrase's key, which also seals the secret.
  private func bind(
    _ item: inout SealedItem, to control: AccessControl, passphrase: consuming NewItemPassphrase?, kept: HeldKey? = nil
  ) throws(VaultError) -> HeldKey? {
    guard control.needsPassphrase else {
      item.row.access = control.requiresAnything ? ItemAccess.conditions.encoded : nil
      return nil
    }
    guard let new = passphrase.take() else {
      guard let kept, try item.access()?.derivation != nil else { throw .needsGrant }
      return kept
    }
    item.row.access = ItemAccess.passphrase(new.derivation).encoded
    return HeldKey(new.takeKey())
  }

  // MARK: - sealing

  /// The row of an item with other label or attributes, or in another class.
  private func updated(
    item id: Int64, accessibility: AccessibilityClass?, granted: AccessGrant?, _ change: (inout ItemMetadata) -> Void
  ) throws(VaultError) -> ItemRow {
    var item = try reader.locate(id)
    try checkMayChange(item.key, in: item.collection)
    try reader.checkIsNotLockedByItself(item)
    guard let old = try reader.metadata(item) else { throw item.absence }
    // The prompt names the item's label. A program that could change the label could have the person agree to something else.
    let control = try reader.noting { () throws(VaultError) in try item.check(granted, old) }
    var next = old.metadata
    change(&next)
    next.flags = old.metadata.flags
    try next.checkSize()
    if let accessibility, accessibility != item.accessibility {
      try checkMayMove(item, to: accessibility)
      let secret = try reader.openSecret(item, old, checked: control, passphraseKey: granted?.passphraseKey)
      _ = try database.writable()
      return try rewritten(
        item, next, secret: secret, accessibility: accessibility, passphraseKey: granted?.passphraseKey)
    }
    _ = try database.writable()
    try item.relabel(
      next, revision: old.revision, tokens: try keys.readyIndex().column(for: next.attributes),
      modified: item.row.nextModified(Process.time))
    return item.row
  }

  /// Refuses another class for an item that requires something.
  ///
  /// - Throws: ``VaultError/keepsItsAccess``.
  private func checkMayMove(_ item: SealedItem, to accessibility: AccessibilityClass) throws(VaultError) {
    guard item.row.access == nil || accessibility == item.accessibility else { throw .keepsItsAccess }
  }

  /// The row of a new version, in another class if one is named. It is never sealed under class keys that were changed since.
  private func rewritten(
    _ item: SealedItem, _ metadata: ItemMetadata, secret: borrowing SecureBytes, accessibility: AccessibilityClass?,
    passphraseKey: HeldKey?
  ) throws(VaultError) -> ItemRow {
    let accessibility = accessibility ?? item.accessibility
    var next = item
    if accessibility != item.accessibility || item.collection.isOutdated(item.key) {
      try keys.checkPasscode(for: accessibility)
      guard let key = item.collection.current(accessibility, share: keys.share) else {
        throw item.collection.absence(of: accessibility, share: keys.share)
      }
      guard key.secretKey != nil else { throw .isLocked }
      next = SealedItem(
        vault: item.vault, row: item.row, collection: item.collection, key: key, share: item.share)
      next.row.classKey = key.row.id
    }
    try seal(&next, metadata, secret: secret, passphraseKey: passphraseKey)
    return next.row
  }

  private func seal(
    _ item: inout SealedItem, _ metadata: ItemMetadata, secret: borrowing SecureBytes, modified: UInt64 = Process.time,
    passphraseKey: HeldKey?
  ) throws(VaultError) {
    try metadata.checkSize()
    try item.seal(
      metadata, secret: secret, tokens: try keys.readyIndex().column(for: metadata.attributes),
      modified: item.row.nextModified(modified), passphraseKey: passphraseKey)
  }

  /// Wraps the keys of items under their class key if the items were stored while the class was locked; `limit` items at most. An
  /// item that somebody without tier key C made is quarantined.
  ///
  /// - Returns: whether there are more.
  public func rewrapStoredWhileLocked(limit: Int = 16) throws(VaultError) -> Bool {
    let store = try database.writable()
    let from = rewrapPosition
    let waiting = try database.reading { store throws(VaultError) in
      try store.items(form: .storedWhileLocked, after: from, limit: limit)
    }
    // The next call takes other items, because some of these may have to wait longer, for example in a locked collection.
    rewrapPosition = waiting.count == limit ? waiting.last ?? 0 : 0
    for id in waiting {
      var item = try reader.locate(id)
      // Behind a locked screen the item's label stays sealed, too.
      guard item.key.secretKey != nil, let opened = try reader.metadata(item) else { continue }
      let isRewrapped = try reader.noting { () throws(VaultError) in try item.rewrap(opened) }
      if isRewrapped { try write(item.row, in: store) }
    }
    return waiting.count == limit
  }

  /// Call this when the database was closed: the next database is walked from its beginning.
  func forget() { rewrapPosition = 0 }

  // MARK: - what may be changed

  /// Deletes an item. Needs no key; ``checkMayChange(item:)`` says whether a client may.
  public func deleteItem(_ id: Int64) throws(VaultError) {
    guard try !deleteItems([(id, nil)]).isEmpty else { throw .noSuchItem }
  }

  /// Deletes all of these items, or none. This needs no key.
  ///
  /// - Parameter items: their numbers, and the uuid that each must have, because in another vault a number belongs to another item;
  ///   nil for any uuid.
  /// - Returns: the numbers of the items that existed.
  public func deleteItems(_ items: [(id: Int64, uuid: [UInt8]?)]) throws(VaultError) -> [Int64] {
    // The former versions must be removed too, because the item's explicit lock ends with the item and would no longer protect
    // them.
    for item in items where keys.ownLocks.contains(item: item.id) {
      let uuid = try database.reading { store throws(VaultError) in try store.item(item.id)?.uuid }
      if let uuid, item.uuid == nil || item.uuid == uuid { observer.tighten(uuid) }
    }
    let deleted = try database.writing { store throws(VaultError) in
      var deleted: [Int64] = []
      for item in items where try store.deleteItem(item.id, uuid: item.uuid) { deleted.append(item.id) }
      return deleted
    }
    for id in deleted { keys.ownLocks.forget(item: id) }
    return deleted
  }

  /// Refuses a change or deletion of an item that is locked. A *new* item can be stored while its class is locked, as that
  /// loses nothing.
  ///
  /// Some items stay locked while everything is unlocked, such as an item of another device. No unlock opens them, so they may be
  /// deleted.
  ///
  /// - Throws: ``VaultError/isLocked``.
  public func checkMayChange(item id: Int64) throws(VaultError) {
    let found = try database.reading { store throws(VaultError) in try store.place(ofItem: id) }
    guard let found else { throw .noSuchItem }
    guard let (collection, key) = keys.classKey(found.classKey) else {
      throw .damaged(.of(.database, .itemWithoutKey(id)))
    }
    try checkMayChange(key, in: collection)
    if reader.isLockedByItself(item: id) { throw .isLockedByItself }
  }

  /// Makes the same check for the keys of the item's class.
  private func checkMayChange(_ key: ClassKey, in collection: OpenCollection) throws(VaultError) {
    if collection.isLockedByItself { throw .isLocked }
    if key.secretKey != nil { return }
    let waitsForUnlock =
      switch key.row.accessibility.tier {
      case .unlocked: collection.unlocked == nil
      case .session: collection.session == nil
      case .device: false
      }
    if waitsForUnlock { throw .isLocked }
  }

  /// Locks one item until the next login, or until the person gives the login password for its collection.
  public func lockItem(_ id: Int64) throws(VaultError) {
    guard let collection = try reader.collection(ofItem: id) else { throw .noSuchItem }
    keys.ownLocks.lock(item: id, in: collection)
  }
}

extension ItemRow {
  /// The time of a new version: later than the present version's time even if the clock was set back, so that healing and
  /// imports know which version is later.
  fileprivate func nextModified(_ time: UInt64) -> UInt64 { time < modified ? modified + 1 : max(time, created) }
}
