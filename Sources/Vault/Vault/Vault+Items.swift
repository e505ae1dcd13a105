import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// What is told of an item without its secret.
public struct ItemInfo: Equatable, Sendable {
  /// 16 bytes that no other item has, in no vault.
  public let uuid: [UInt8]
  /// Label and attributes; nil while they cannot be read.
  public let metadata: ItemMetadata?
  /// When the secret may be read.
  public let accessibility: AccessibilityClass
  /// Whether it can be read now.
  public let readability: Readability
  /// What it asks for beside keys; nil while its label cannot be read.
  public let access: AccessControl?
  /// When it was made, in seconds since 1970.
  public let created: UInt64
  /// When it last changed, in seconds since 1970.
  public let modified: UInt64
}

/// What a search is for.
public enum ItemQuery: Equatable, Sendable {
  /// Items that have all of these attributes; every item for none.
  case attributes([String: String])
  /// Items of one class.
  case accessibility(AccessibilityClass)
  /// Items that ask for just this, of one class or any. One that asks for something of which its label would tell, and
  /// cannot be read now, is among them: it may be that.
  case access(AccessControl, AccessibilityClass?)
}

/// A found item.
public struct FoundItem: Equatable, Sendable {
  /// Its number: never used again for another one.
  public let id: Int64
  /// The collection it is in.
  public let collection: Int64
  /// Whether its secret can be read now.
  public let readability: Readability
}

/// A secret that was read; erased when the last reference ends.
public final class OpenedSecret {
  /// The secret itself.
  public let secret: SecureBytes
  /// Its content type, as "text/plain".
  public let contentType: String

  init(_ secret: consuming SecureBytes, contentType: String) {
    self.secret = secret
    self.contentType = contentType
  }
}

extension Vault {
  // MARK: - finding

  /// The items that fit, oldest first. Never short because a key is missing, and once the database has been verified
  /// never empty because of damage: that is an error.
  public func search(_ query: ItemQuery, in collection: Int64? = nil) throws(VaultError) -> [FoundItem] {
    if isUnused { return [] }
    let result = try reading { store throws(VaultError) in try search(query, in: collection, store) }
    if result.isEmpty { _ = try writable() }
    return result
  }

  private func search(
    _ query: ItemQuery, in collection: Int64?, _ store: Store
  ) throws(VaultError) -> [FoundItem] {
    var found: [Store.Place]
    switch query {
    case .accessibility(let accessibility):
      found = []
      for key in open.flatMap(\.classes) where key.row.accessibility == accessibility {
        found += try store.places(classKey: key.row.id)
      }
    case .access(let access, let accessibility):
      found = []
      for key in open.flatMap(\.classes) where accessibility == nil || key.row.accessibility == accessibility {
        for place in try store.places(classKey: key.row.id) where place.isGuarded == access.asksForAnything {
          guard place.isGuarded else {
            found.append(place)
            continue
          }
          // One that is damaged was noted, and keeps no other from being found.
          guard let info = try? info(ofItem: place.item) else { continue }
          if info.access ?? access == access { found.append(place) }
        }
      }
    case .attributes(let attributes) where attributes.isEmpty:
      found = []
      for open in open where collection == nil || open.row.id == collection {
        found += try store.places(in: open.row.id)
      }
    case .attributes(let attributes) where attributes.count > ItemMetadata.attributeLimit: found = []
    case .attributes(let attributes):
      found = try store.places(withTokens: try readyIndex().tokens(of: attributes))
    }
    var result: [FoundItem] = []
    for place in found {
      guard let home = place.collection else {
        throw .damaged("vault.db: the index leads to an item that is not there")
      }
      guard collection == nil || home == collection else { continue }
      result.append(FoundItem(id: place.item, collection: home, readability: readability(place)))
    }
    return result.count > 1 ? result.sorted { $0.id < $1.id } : result
  }

  /// The item of this number, if it is the one with this uuid; nil where it is not there. As with a search, never nil because
  /// of damage that was found.
  public func item(_ id: Int64, uuid: [UInt8]) throws(VaultError) -> FoundItem? {
    let row = try reading { store throws(VaultError) in try store.item(id) }
    guard let row, row.uuid == uuid else {
      _ = try writable()
      return nil
    }
    return FoundItem(id: id, collection: row.collection, readability: try readability(ofItem: id))
  }

  /// Every item of a collection, oldest first. As with a search, never empty because of damage that was found.
  public func items(in collection: Int64) throws(VaultError) -> [Int64] {
    _ = try self.collection(collection)
    let found = try reading { store throws(VaultError) in try store.items(in: collection) }
    if found.isEmpty { _ = try writable() }
    return found
  }

  /// How many items the vault has.
  public func itemCount() throws(VaultError) -> Int64 {
    try reading { store throws(VaultError) in try store.itemCount() }
  }

  /// The highest number that an item has or had; 0 where there never was one.
  public func lastItem() throws(VaultError) -> Int64 {
    try reading { store throws(VaultError) in try store.nextID(.item) - 1 }
  }

  /// The collection of an item; nil when there is no such item.
  public func collection(ofItem id: Int64) throws(VaultError) -> Int64? {
    try reading { store throws(VaultError) in try store.collection(ofItem: id) }
  }

  /// Whether the item's secret can be read now.
  public func readability(ofItem id: Int64) throws(VaultError) -> Readability {
    let found = try reading { store throws(VaultError) in try store.place(ofItem: id) }
    guard let found else { throw .noSuchItem }
    return readability(found)
  }

  func readability(_ place: Store.Place) -> Readability {
    guard place.form != .quarantined, !isLockedByItself(item: place.item),
      classKey(place.classKey)?.key.secretKey != nil
    else { return .locked }
    return place.isGuarded ? .guarded : .open
  }

  func classKey(_ id: Int64) -> (collection: OpenCollection, key: ClassKey)? {
    for collection in open {
      if let key = collection.classes.first(where: { $0.row.id == id }) { return (collection, key) }
    }
    return nil
  }

  // MARK: - reading

  /// A row with the keys of its class.
  struct Located {
    var row: ItemRow
    let collection: OpenCollection
    let key: ClassKey
    let seal: ItemSeal
  }

  func locate(_ id: Int64) throws(VaultError) -> Located {
    let row = try reading { store throws(VaultError) in try store.item(id) }
    guard let row else { throw .noSuchItem }
    return try locate(row)
  }

  func locate(_ row: ItemRow) throws(VaultError) -> Located {
    try reading { store throws(VaultError) in
      guard let (collection, key) = classKey(row.classKey), collection.row.id == row.collection else {
        throw VaultError.damaged("vault.db: item \(row.id) has no class key")
      }
      return Located(
        row: row, collection: collection, key: key,
        seal: ItemSeal(
          vault: store.vault, collection: collection.row.uuid, accessibility: key.row.accessibility, item: row.uuid))
    }
  }

  /// Label and attributes, where their key is there. The index entries must be those of the attributes: whoever could
  /// exchange two items' entries would have one given out for the other.
  func metadata(_ item: Located) throws(VaultError) -> (metadata: ItemMetadata, revision: [UInt8])? {
    guard let key = item.key.metadataKey else { return nil }
    return try reading { _ throws(VaultError) in
      let opened = try item.seal.openMetadata(
        item.row.metadata, created: item.row.created, modified: item.row.modified, key: key.key)
      if let index, try index.column(for: opened.metadata.attributes) != item.row.tokens {
        throw VaultError.damaged("vault.db: the index of item \(item.row.id) is damaged")
      }
      return opened
    }
  }

  /// The metadata of an item whose secret can be read now: only such a one may be written over.
  func readable(_ item: Located, _ granted: AccessGrant?) throws(VaultError) -> ItemMetadata {
    guard let opened = try metadata(item) else { throw item.key.absence(on: share) }
    try checkIsNotLockedByItself(item)
    _ = try itemKey(item, opened)
    try check(granted, opens: item, opened)
    return opened.metadata
  }

  /// Everything but the secret.
  public func info(ofItem id: Int64) throws(VaultError) -> ItemInfo {
    let item = try locate(id)
    let metadata = try metadata(item)?.metadata
    let access: AccessControl? = if let metadata { try control(metadata, of: item.row) } else { nil }
    let hasKeys =
      item.key.secretKey != nil && item.row.form != .quarantined && !isLockedByItself(item: item.row.id)
    return ItemInfo(
      uuid: item.row.uuid, metadata: metadata, accessibility: item.key.row.accessibility,
      readability: !hasKeys ? .locked : item.row.access == nil ? .open : .guarded, access: access,
      created: item.row.created, modified: item.row.modified)
  }

  /// The secret of an item in `collection`, and its content type; nil for one that is gone or cannot be read now.
  public func secretIfReadable(
    ofItem id: Int64, in collection: Int64, granted: AccessGrant? = nil
  ) throws(VaultError) -> OpenedSecret? {
    guard store != nil, let row = try reading({ store throws(VaultError) in try store.item(id) }),
      row.collection == collection, row.form != .quarantined, classKey(row.classKey)?.key.secretKey != nil
    else { return nil }
    guard row.access == nil || granted?.item == id, !isLockedByItself(item: id) else { return nil }
    return try readSecret(try locate(row), granted)
  }

  /// The secret, and its content type.
  ///
  /// - Parameter granted: what a person gave for it, where it asks for something.
  /// - Throws: ``VaultError/isLocked`` while the item's class key is not in memory, whatever was given;
  ///   ``VaultError/needsGrant``.
  public func readSecret(ofItem id: Int64, granted: AccessGrant? = nil) throws(VaultError) -> OpenedSecret {
    try readSecret(try locate(id), granted)
  }

  func readSecret(_ item: Located, _ granted: AccessGrant? = nil) throws(VaultError) -> OpenedSecret {
    guard let opened = try metadata(item) else { throw item.key.absence(on: share) }
    // Before anybody is asked for anything: as on Apple's systems, a locked class comes first.
    guard item.key.secretKey != nil else { throw item.key.absence(on: share) }
    try checkIsNotLockedByItself(item)
    try check(granted, opens: item, opened)
    let secret = try openSecret(item, opened, passphraseKey: granted?.passphraseKey)
    return OpenedSecret(secret, contentType: opened.metadata.contentType)
  }

  /// The secret, whatever conditions the item has; not without its passphrase.
  func openSecret(
    _ item: Located, _ opened: (metadata: ItemMetadata, revision: [UInt8]), passphraseKey: HeldKey? = nil
  ) throws(VaultError) -> SecureBytes {
    try checkIsNotLockedByItself(item)
    let itemKey = try itemKey(item, opened)
    // A passphrase that is missing is no damage, and neither is one too many.
    guard try control(opened.metadata, of: item.row).needsPassphrase == (passphraseKey != nil) else {
      throw .needsGrant
    }
    do throws(VaultError) {
      // Later the walk through the database has seen to it.
      if !isVerified || isDamaged { try ready().checkTokens(of: item.row) }
      return try open(item, opened, itemKey, passphraseKey)
    } catch {
      note(error)
      throw error
    }
  }

  func open(
    _ item: Located, _ opened: (metadata: ItemMetadata, revision: [UInt8]), _ itemKey: borrowing Key,
    _ passphraseKey: HeldKey?
  ) throws(VaultError) -> SecureBytes {
    try item.seal.open(
      item.row.secret, itemKey: itemKey,
      ItemSeal.Access(flags: opened.metadata.flags, column: item.row.access ?? [], passphraseKey: passphraseKey),
      revision: opened.revision)
  }

  func itemKey(
    _ item: Located, _ opened: (metadata: ItemMetadata, revision: [UInt8])
  ) throws(VaultError) -> Key {
    guard let classKey = item.key.secretKey else { throw item.key.absence(on: share) }
    do throws(VaultError) {
      switch item.row.form {
      case .quarantined: throw .foreignItem(item.row.id)
      case .wrapped:
        return try item.seal.unwrap(
          item.row.itemKey, flags: opened.metadata.flags, revision: opened.revision, classKey: classKey.key)
      case .storedWhileLocked:
        guard let privateKey = item.key.privateKey, item.collection.session != nil else { throw VaultError.isLocked }
        try checkLockedTag(item, flags: opened.metadata.flags, revision: opened.revision)
        return try item.seal.unsealStoredWhileLocked(item.row.itemKey, privateKey: privateKey.key)
      }
    } catch {
      note(error)
      throw error
    }
  }

  /// Whether an item that was stored while locked was stored by whoever had the collection's tier key C, now or before
  /// keys were changed.
  ///
  /// - Throws: ``VaultError/foreignItem(_:)`` where not.
  func checkLockedTag(_ item: Located, flags: UInt32, revision: [UInt8]) throws(VaultError) {
    for session in item.collection.sessions {
      let expected = try item.seal.lockedTag(
        item.row, classKey: item.key.row.uuid, flags: flags, revision: revision, session: session.key)
      if Sodium.equal(expected, item.row.lockedTag ?? []) { return }
    }
    throw .foreignItem(item.row.id)
  }

  // MARK: - writing

  /// Stores an item.
  ///
  /// - Parameters:
  ///   - accessibility: its class; nil for what a replaced item had, else `defaultClass`.
  ///   - defaultClass: the class of a new item for which none is named.
  ///   - replacing: whether an item with exactly these attributes is replaced. That keeps its access control, unless
  ///     `metadata` has flags.
  ///   - unique: attributes that no item of the vault may have, all of them together; none for no such rule.
  ///   - passphrase: what a new item's own passphrase gave, or a replaced one's new passphrase.
  ///   - granted: what a person gave for an item that is replaced.
  /// - Returns: the item, and whether it is a new one. It is on the disk.
  /// - Throws: ``VaultError/isLocked`` when an item would be replaced that cannot be read now, or when the class does
  ///   not accept new items while it is locked; ``VaultError/duplicate``.
  public func createItem(
    in collectionID: Int64, _ metadata: ItemMetadata, secret: borrowing SecureBytes,
    accessibility: AccessibilityClass?, defaultClass: AccessibilityClass = .whenUnlocked, replacing: Bool,
    unique: [String: String] = [:], passphrase: consuming NewItemPassphrase? = nil,
    granted: (Int64) -> AccessGrant? = { _ in nil }
  ) throws(VaultError) -> (id: Int64, isNew: Bool) {
    let named: AccessControl
    do throws(AccessControl.Mistake) { named = try AccessControl(rawValue: metadata.flags) } catch {
      throw .badAccessControl(error)
    }
    let collection = try collection(collectionID)
    let store = try writable()
    let index = try readyIndex()
    try checkIsNew(unique)
    guard secret.count <= ItemSeal.secretLimit else { throw .tooLarge }
    if collection.isClosed { throw .isLocked }
    if replacing {
      let setToken = try index.setToken(of: try index.tokens(of: metadata.attributes))
      let same = try reading { store throws(VaultError) in try store.places(withTokens: [setToken]) }
      for place in same where place.collection == collectionID {
        let id = place.item
        var item = try locate(id)
        let grant = granted(id)
        let opened = try readable(item, grant)
        let old = try control(opened, of: item.row)
        let control = named.asksForAnything ? named : old
        // What it asks for, and when it may be read, is changed by a question of its own.
        guard
          !old.asksForAnything
            || (control == old && accessibility ?? item.key.row.accessibility == item.key.row.accessibility)
        else { throw .keepsItsAccess }
        var next = metadata
        next.flags = control.rawValue
        // Nor does it take other fingers: that would be a change, too.
        next.fingers = opened.fingers ?? next.fingers
        let key = try bind(&item, to: control, passphrase: passphrase.take(), kept: grant?.passphraseKey)
        try rewrite(item, next, secret: secret, accessibility: accessibility, passphraseKey: key)
        return (id, false)
      }
    }
    // Not the row's default class: no key protects that column, and who writes it must not have secrets stored in a
    // class that he can open.
    let wanted = accessibility ?? defaultClass
    try checkPasscode(for: wanted)
    guard let key = collection.current(wanted, share: share) else { throw .isLocked }
    let now = Process.time
    let row = ItemRow(
      id: try reading { store throws(VaultError) in try store.nextID(.item) }, uuid: Sodium.randomBytes(16),
      collection: collectionID,
      classKey: key.row.id, form: .wrapped, created: now, modified: now, metadata: [], itemKey: [], lockedTag: nil,
      access: nil, secret: [], tokens: [])
    var item = Located(
      row: row, collection: collection, key: key,
      seal: ItemSeal(
        vault: store.vault, collection: collection.row.uuid, accessibility: wanted, item: row.uuid))
    let passphraseKey = try bind(&item, to: named, passphrase: passphrase.take())
    try insert(try sealed(item, metadata, secret: secret, passphraseKey: passphraseKey))
    return (row.id, true)
  }

  /// Deletes an item. Needs no key; ``checkMayChange(item:)`` says whether a client may.
  public func deleteItem(_ id: Int64) throws(VaultError) {
    guard try !deleteItems([id]).isEmpty else { throw .noSuchItem }
  }

  /// Deletes items, all or none. Needs no key.
  ///
  /// - Returns: those that were there.
  public func deleteItems(_ ids: [Int64]) throws(VaultError) -> [Int64] {
    let deleted = try writing { store throws(VaultError) in
      var deleted: [Int64] = []
      for id in ids where try store.deleteItem(id) { deleted.append(id) }
      return deleted
    }
    for id in deleted { lockedItems[id] = nil }
    return deleted
  }
}
