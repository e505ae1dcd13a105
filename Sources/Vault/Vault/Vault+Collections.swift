import LatchkeyBackup
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The facts about a collection that need no key but the index's.
public struct CollectionInfo: Equatable, Sendable {
  /// Its number: never used again for another one.
  public let id: Int64
  /// For a person; empty where the index cannot be opened.
  public let label: String
  /// When it was made, in seconds since 1970.
  public let created: UInt64
  /// When its label last changed, in seconds since 1970.
  public let modified: UInt64
}

/// How much of a collection can be read.
public enum CollectionState: Sendable {
  /// No login yet, or the session has ended.
  case sealed
  /// Locked by itself: stays so until the login password is given for it.
  case lockedExplicitly
  /// Its own passphrase was not given.
  case needsPassphrase
  /// The session is past its first unlock, but tier A is erased.
  case locked
  /// Everything.
  case unlocked
}

extension Vault {
  /// Every collection, oldest first.
  public var collections: [Int64] { keys.collections.map(\.row.id) }

  /// How many collections are locked by themselves.
  public var lockedCollectionCount: Int { keys.collections.count { $0.row.locked } }

  func collection(_ id: Int64) throws(VaultError) -> OpenCollection {
    _ = try database.ready()
    return try keys.collection(id)
  }

  /// How much of the collection can be read.
  public func state(of id: Int64) throws(VaultError) -> CollectionState {
    let collection = try collection(id)
    if collection.row.locked { return .lockedExplicitly }
    if collection.session == nil { return .sealed }
    if collection.needsPassphrase { return .needsPassphrase }
    return collection.unlocked == nil ? .locked : .unlocked
  }

  /// The collection's label and times. The first one has its label before there is a vault.
  public func info(of id: Int64) throws(VaultError) -> CollectionInfo {
    if id == Vault.firstCollection && hasNoDatabaseYet {
      return CollectionInfo(id: id, label: Vault.firstLabel, created: 0, modified: 0)
    }
    let row = try collection(id).row
    var label = ""
    if let index = keys.index { label = try title(of: row, index: index).label }
    return CollectionInfo(id: id, label: label, created: row.created, modified: row.modified)
  }

  private static func labelAssociated(_ vault: [UInt8], _ uuid: [UInt8]) -> [UInt8] {
    var out = ByteWriter()
    out.text("latchkey/1/collection-label")
    out.put(vault)
    out.put(uuid)
    return out.bytes
  }

  /// The most collections of a vault. Each has some 20 keys in locked memory, and each of those a few of the 65,530
  /// mappings that the kernel allows a process: a vault with a thousand collections opens nowhere.
  static let collectionLimit = 200

  /// The longest label of a collection, in bytes, and the longest alias that a client may bring.
  public static let labelLimit = 1 << 16

  func seal(_ title: CollectionTitle, uuid: [UInt8], index: AttributeIndex) throws(VaultError) -> [UInt8] {
    guard title.label.utf8.count <= Vault.labelLimit else { throw .tooLarge }
    return AEAD.seal(
      title.encoded.span.bytes, key: try index.collectionLabelKey(),
      associated: Vault.labelAssociated(try database.ready().vault, uuid))
  }

  func title(of row: CollectionRow, index: AttributeIndex) throws(VaultError) -> CollectionTitle {
    let vault = try database.ready().vault
    let key = try index.collectionLabelKey()
    let plain = try VaultError.sodium(.vault(.collectionLabel)) { () throws(SodiumError) in
      try AEAD.open(row.label.span.bytes, key: key, associated: Vault.labelAssociated(vault, row.uuid))
    }
    return CollectionTitle(decoding: plain.bytes.withUnsafeBytes { Array($0) })
  }

  /// Makes a collection, which `alias` then names: both or nothing. Needs the session unlocked.
  public func createCollection(label: String, alias: String? = nil) throws(VaultError) -> Int64 {
    try makeCollection(label: label, aliases: alias.map { [$0] } ?? [])
  }

  func makeCollection(label: String, aliases: [String]) throws(VaultError) -> Int64 {
    guard var unlocked = keys.chains.unlocked, var session = keys.chains.session else { throw .isLocked }
    let id = try makeCollection(label: label, aliases: aliases, unlocked: &unlocked, session: &session)
    keys.chains = (unlocked, session)
    return id
  }

  func makeCollection(
    label: String, aliases: [String], unlocked: inout KeyChain, session: inout KeyChain
  ) throws(VaultError) -> Int64 {
    let store = try database.writable()
    let index = try keys.readyIndex()
    guard unlocked.ordinal == session.ordinal else { throw .isLocked }
    guard session.ordinal < Store.collectionLimit, keys.collections.count < Vault.collectionLimit else {
      throw .tooLarge
    }
    let uuid = Sodium.randomBytes(16)
    let now = Process.time
    let id = try database.reading { store throws(VaultError) in try store.nextID(.collection) }
    let name = id == Vault.firstCollection ? nil : newName(label, besides: takenNames)
    let row = CollectionRow(
      id: id, uuid: uuid, ordinal: session.ordinal, epoch: UInt64(epoch),
      label: try seal(CollectionTitle(label: label, name: name), uuid: uuid, index: index), locked: false,
      passphrase: nil, defaultClass: nil,
      created: now, modified: now)
    let collection = try OpenCollection(row, classes: [])
    collection.name = name
    do {
      try collection.take(
        unlocked: try unlocked.next(uuid: uuid), session: try session.next(uuid: uuid), epoch: epoch, former: [],
        lacksFormer: false, share: keys.share, vault: store.vault)
    } catch let error as VaultError { throw error } catch { throw .outOfMemory }
    let classes = try database.writing { store throws(VaultError) in
      try store.insert(row)
      for alias in aliases { try store.setAlias(try index.aliasToken(alias), row.id) }
      return try collection.makeMissingClasses(share: keys.share, in: store)
    }
    collection.adopt(classes)
    keys.collections.append(collection)
    return row.id
  }

  /// Changes the label. Needs no key but the index's; ``checkMayChange(collection:)`` says whether a client may.
  public func setLabel(ofCollection id: Int64, _ label: String) throws(VaultError) {
    let collection = try collection(id)
    _ = try database.writable()
    var row = collection.row
    // The name in its path stays, as programs look for the collection there.
    row.label = try seal(
      CollectionTitle(label: label, name: collection.name), uuid: row.uuid, index: try keys.readyIndex())
    // Healing takes the later version, whatever the clock says.
    row.modified = max(Process.time, row.modified)
    try database.writing { store throws(VaultError) in try store.update(row) }
    collection.row = row
  }

  /// Makes the classes that this device has no keys for yet, in every unlocked collection.
  func makeMissingClasses() throws(VaultError) {
    let open = keys.collections.filter { !$0.isLockedByItself }
    let made = try database.writing { store throws(VaultError) in
      var made: [[ClassKey]] = []
      for collection in open { made.append(try collection.makeMissingClasses(share: keys.share, in: store)) }
      return made
    }
    for (collection, classes) in zip(open, made) { collection.adopt(classes) }
  }

  /// Deletes the collection with everything in it. Needs no key; ``checkMayDelete(collection:)`` says whether a client
  /// may.
  public func deleteCollection(_ id: Int64) throws(VaultError) {
    let collection = try collection(id)
    // Their locks are forgotten with them: nothing else would keep a former version closed.
    for item in keys.ownLocks.items(in: id) {
      let uuid = try database.reading { store throws(VaultError) in try store.item(item)?.uuid }
      if let uuid { history.tighten(uuid) }
    }
    try database.writing { store throws(VaultError) in try store.deleteCollection(id) }
    collection.erase()
    keys.collections.removeAll { $0 === collection }
    keys.ownLocks.lift(of: [id])
  }

  /// Locks the collection by itself: its keys are erased, and only its passphrase brings them back; where it has none,
  /// ``unlock(_:former:opening:liftingLocks:of:mayCreate:)`` with `liftingLocks`.
  public func lockCollection(_ id: Int64) throws(VaultError) {
    let collection = try collection(id)
    // Before any file is touched.
    collection.close()
    keys.ownLocks.lockCollection()
    if collection.passphrase == nil { try setExplicitLock(collection, true) }
  }

  func setExplicitLock(_ collection: OpenCollection, _ locked: Bool) throws(VaultError) {
    guard collection.row.locked != locked else { return }
    var row = collection.row
    row.locked = locked
    // Also when the file cannot be written the lock holds in memory. Lifted in memory only, it is there again after a
    // restart: both are on the safe side.
    collection.row = row
    if !locked && isDamaged { return }
    do throws(VaultError) { try database.writing { store throws(VaultError) in try store.update(row) } } catch {
      switch error {
      case .diskFull where !locked, .unavailable where !locked: return
      default: throw error
      }
    }
  }

  /// The collection that an alias names; nil for none, which after damage is an error: it may be what was damaged.
  public func alias(_ name: String) throws(VaultError) -> Int64? {
    // Where there is no database, that is the reason, and not the index that is missing with it.
    _ = try database.ready()
    let token = try keys.readyIndex().aliasToken(name)
    let found = try database.reading { store throws(VaultError) in try store.alias(token) }
    if found == nil { _ = try database.writable() }
    return found
  }

  /// Lets an alias name a collection, or nothing.
  public func setAlias(_ name: String, to collection: Int64?) throws(VaultError) {
    if let collection { _ = try self.collection(collection) }
    _ = try database.ready()
    let token = try keys.readyIndex().aliasToken(name)
    try database.writing { store throws(VaultError) in try store.setAlias(token, collection) }
  }
}
