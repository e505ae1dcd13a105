import LatchkeyBackup
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The collections of a vault: their labels and aliases, which of them can be read, and their passphrases. The database stores the
/// explicit lock of a collection. The explicit lock of an item exists in this process only (``OwnLocks``).
public final class VaultCollections {
  let database: VaultDatabase
  let keys: VaultKeys
  private let history: History
  private let rotation: VaultRotation
  private let device: VaultDevice

  init(
    _ database: VaultDatabase, _ keys: VaultKeys, _ history: History, _ rotation: VaultRotation, _ device: VaultDevice
  ) {
    (self.database, self.keys) = (database, keys)
    (self.history, self.rotation, self.device) = (history, rotation, device)
  }

  /// Every collection, oldest first.
  public var ids: [Int64] { keys.collections.map(\.row.id) }

  /// The number of collections with an explicit lock.
  public var lockedCount: Int { keys.collections.count { $0.row.locked } }

  func collection(_ id: Int64) throws(VaultError) -> OpenCollection {
    _ = try database.ready()
    return try keys.collection(id)
  }

  /// The state of the collection, which decides what can be read.
  public func state(of id: Int64) throws(VaultError) -> CollectionState {
    let collection = try collection(id)
    if collection.row.locked { return .lockedExplicitly }
    if collection.session == nil { return .sealed }
    if collection.needsPassphrase { return .needsPassphrase }
    return collection.unlocked == nil ? .locked : .unlocked
  }

  /// The collection's label and times. The first collection has its label even before the vault exists.
  public func info(of id: Int64) throws(VaultError) -> CollectionInfo {
    if id == Vault.firstCollection && database.isNotCreated {
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

  /// The most collections of a vault. Each has some 20 keys in locked memory, and each key takes a few of the 65,530 mappings that
  /// the kernel allows a process. A vault with a thousand collections could not be unlocked on any machine.
  static let limit = 200

  /// The longest label of a collection, in bytes, and the longest alias that a client may bring.
  public static let labelLimit = 1 << 16

  func seal(_ title: CollectionTitle, uuid: [UInt8], index: AttributeIndex) throws(VaultError) -> [UInt8] {
    guard title.label.utf8.count <= Self.labelLimit else { throw .tooLarge }
    return AEAD.seal(
      title.encoded.span.bytes, key: try index.collectionLabelKey(),
      associated: Self.labelAssociated(try database.ready().vault, uuid))
  }

  func title(of row: CollectionRow, index: AttributeIndex) throws(VaultError) -> CollectionTitle {
    let vault = try database.ready().vault
    let key = try index.collectionLabelKey()
    let plain = try VaultError.sodium(.vault(.collectionLabel)) { () throws(SodiumError) in
      try AEAD.open(row.label.span.bytes, key: key, associated: Self.labelAssociated(vault, row.uuid))
    }
    return CollectionTitle(decoding: plain.bytes.octets)
  }

  /// Creates a collection and has `alias` name it, both or nothing. The session must be unlocked.
  public func create(label: String, alias: String? = nil) throws(VaultError) -> Int64 {
    try make(label: label, aliases: alias.map { [$0] } ?? [])
  }

  func make(label: String, aliases: [String]) throws(VaultError) -> Int64 {
    guard var unlocked = keys.chains.unlocked, var session = keys.chains.session else { throw .isLocked }
    let id = try make(label: label, aliases: aliases, unlocked: &unlocked, session: &session)
    keys.chains = .unlocked(unlocked, session: session)
    return id
  }

  func make(
    label: String, aliases: [String], unlocked: inout KeyChain, session: inout KeyChain
  ) throws(VaultError) -> Int64 {
    let store = try database.writable()
    let index = try keys.readyIndex()
    guard unlocked.ordinal == session.ordinal else { throw .isLocked }
    guard session.ordinal < Store.collectionLimit, keys.collections.count < Self.limit else {
      throw .tooLarge
    }
    let uuid = Sodium.randomBytes(16)
    let now = Process.time
    let id = try database.reading { store throws(VaultError) in try store.nextID(.collection) }
    let name = id == Vault.firstCollection ? nil : newName(label, besides: takenNames)
    let row = CollectionRow(
      id: id, uuid: uuid, ordinal: session.ordinal, epoch: UInt64(rotation.epoch),
      label: try seal(CollectionTitle(label: label, name: name), uuid: uuid, index: index), locked: false,
      passphrase: nil, defaultClass: nil,
      created: now, modified: now)
    let collection = try OpenCollection(row, classes: [])
    collection.name = name
    do {
      try collection.take(
        unlocked: try unlocked.next(uuid: uuid), session: try session.next(uuid: uuid), epoch: rotation.epoch,
        former: [],
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

  /// Changes the label. Needs only the index key; ``checkMayChange(_:)`` says whether a client may.
  public func setLabel(of id: Int64, _ label: String) throws(VaultError) {
    let collection = try collection(id)
    _ = try database.writable()
    var row = collection.row
    // The name in the object path stays, because programs look for the collection there.
    row.label = try seal(
      CollectionTitle(label: label, name: collection.name), uuid: row.uuid, index: try keys.readyIndex())
    // Healing takes the later version, so this moment must not be earlier than the last one, even if the clock is wrong.
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

  /// Deletes the collection with everything in it. This needs no key. ``checkMayDelete(_:)`` says whether a client may delete it.
  public func delete(_ id: Int64) throws(VaultError) {
    let collection = try collection(id)
    // The locks of the collection's items are forgotten with the items, so generations must lose these items, because nothing else
    // would keep their former versions locked.
    for item in keys.ownLocks.items(in: id) {
      let uuid = try database.reading { store throws(VaultError) in try store.item(item)?.uuid }
      if let uuid { history.tighten(uuid) }
    }
    try database.writing { store throws(VaultError) in try store.deleteCollection(id) }
    collection.erase()
    keys.collections.removeAll { $0 === collection }
    keys.ownLocks.lift(of: [id])
  }

  /// Gives the collection an explicit lock and erases its keys. Only its passphrase brings them back. Without a passphrase,
  /// ``Vault/unlock(_:former:opening:liftingLocks:of:mayCreate:)`` with `liftingLocks` brings them back.
  public func lock(_ id: Int64) throws(VaultError) {
    let collection = try collection(id)
    // The keys are erased before any file is touched.
    collection.close()
    keys.ownLocks.lockCollection()
    if collection.passphrase == nil { try setExplicitLock(collection, true) }
  }

  func setExplicitLock(_ collection: OpenCollection, _ locked: Bool) throws(VaultError) {
    guard collection.row.locked != locked else { return }
    var row = collection.row
    row.locked = locked
    // If the file cannot be written, a new lock still holds in memory, and a lock that ended only in memory comes back after a
    // restart. Both are safe.
    collection.row = row
    if !locked && database.isDamaged { return }
    do throws(VaultError) { try database.writing { store throws(VaultError) in try store.update(row) } } catch {
      switch error {
      case .diskFull where !locked, .unavailable where !locked: return
      default: throw error
      }
    }
  }

  /// The collection that an alias names; nil if the alias does not exist. After damage, a missing alias is an error, because it may
  /// be the damaged part.
  public func alias(_ name: String) throws(VaultError) -> Int64? {
    // Without a database, the error names the database, and not the index that is missing with it.
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

  // MARK: - passphrases

  /// The parameters with which the collection's passphrase becomes a key; nil if it has no passphrase.
  public func passphraseDerivation(of id: Int64) throws(VaultError) -> PassphraseDerivation? {
    try collection(id).passphrase?.derivation
  }

  /// Opens a collection by the key that a passphrase gave, until it is locked or the session ends.
  ///
  /// - Returns: whether the passphrase is right.
  /// - Throws: ``VaultError/isLocked`` before the first login, because the passphrase is needed on top of the login.
  public func open(_ id: Int64, passphraseKey key: borrowing Key) throws(VaultError) -> Bool {
    let collection = try collection(id)
    guard collection.session != nil else { throw .isLocked }
    let vault = try database.ready().vault
    guard try collection.open(passphraseKey: key, share: keys.share, vault: vault) else { return false }
    // Adds keys of classes that the collection did not have when it was last unlocked, and replaces the keys that were changed
    // meanwhile.
    if collection.unlocked != nil, !database.isDamaged {
      try device.whereThereIsRoom { () throws(VaultError) in try rotation.renewKeys(indexUnder: nil) }
      try device.whereThereIsRoom { () throws(VaultError) in
        let made = try database.writing { store throws(VaultError) in
          try collection.makeMissingClasses(share: keys.share, in: store)
        }
        collection.adopt(made)
      }
    }
    return true
  }

  /// Gives a collection a passphrase, or replaces the present passphrase. The collection's class keys are wrapped again, so that
  /// the login alone opens no class key any more.
  ///
  /// - Throws: ``VaultError/isLocked`` unless the collection and the session are unlocked; ``VaultError/otherDevice`` if it has
  ///   items of another device, whose keys are not available here.
  public func setPassphrase(
    of id: Int64, key: borrowing Key, _ derivation: PassphraseDerivation
  ) throws(VaultError) {
    let collection = try protectable(id)
    try protect(
      collection,
      try collection.protection(under: key, derivation, share: keys.share, vault: try database.ready().vault))
  }

  /// Whether ``setPassphrase(of:key:_:)`` would be possible now.
  ///
  /// - Throws: the errors that the change would throw.
  public func checkPassphraseMayChange(of id: Int64) throws(VaultError) {
    _ = try database.writable()
    _ = try protectable(id).unprotected(share: keys.share, vault: try database.ready().vault)
  }

  /// Removes the passphrase. From then on the login alone opens the collection.
  public func removePassphrase(of id: Int64) throws(VaultError) {
    let collection = try protectable(id)
    guard collection.passphrase != nil else { return }
    try protect(collection, try collection.unprotected(share: keys.share, vault: try database.ready().vault))
  }

  /// The first collection must open with the login alone, because programs that run without a person keep their secrets in it.
  private func protectable(_ id: Int64) throws(VaultError) -> OpenCollection {
    guard id != 1 else { throw .unavailable(.vault(.loginHasNone)) }
    let collection = try collection(id)
    guard !collection.isLockedByItself, collection.unlocked != nil else { throw .isLocked }
    return collection
  }

  private func protect(_ collection: OpenCollection, _ protection: OpenCollection.Protection) throws(VaultError) {
    // Generations have the same keys under the former wrapping. The generations are removed first, so that an interruption leaves
    // no generation behind.
    if protection.row.passphrase != nil { try history.removeAll() }
    try database.writing { store throws(VaultError) in
      try store.update(protection.row)
      for row in protection.classes { try store.update(row) }
    }
    collection.adopt(protection)
    // The log has the old wrapping until it is emptied.
    device.settleDatabase()
  }

  // MARK: - explicit locks

  /// Refuses a change of a collection that has an explicit lock, or whose tier keys are not in memory.
  ///
  /// - Throws: ``VaultError/isLocked``.
  public func checkMayChange(_ id: Int64) throws(VaultError) {
    guard try state(of: id) == .unlocked else { throw .isLocked }
  }

  /// Refuses to delete a collection while the collection or an item in it is locked.
  ///
  /// - Throws: ``VaultError/isLocked``.
  public func checkMayDelete(_ id: Int64) throws(VaultError) {
    try checkMayChange(id)
    if hasLockedItems(in: id) { throw .isLocked }
  }

  /// Whether an item of the collection has an explicit lock.
  public func hasLockedItems(in collection: Int64) -> Bool { keys.ownLocks.contains(itemIn: collection) }

  /// Whether any item has an explicit lock.
  public var hasLockedItems: Bool { !keys.ownLocks.isEmpty }

  /// Whether there is an explicit lock, or a deleted collection that waits for the password. A login ends both locks.
  public var hasOwnLocks: Bool { lockedCount > 0 || hasLockedItems || hasWaiting }

  /// The moment of the last explicit lock, in microseconds since the machine started; 0 if there was none. A password from before a
  /// lock does not end the lock.
  public var latestOwnLock: UInt64 { keys.ownLocks.latest }

  /// Whether a collection that was deleted waits for the password, to come back from a generation.
  public var hasWaiting: Bool { keys.deleted.isWaiting }

  /// Derives the keys of deleted collections that must come back.
  func openDeleted(_ tiers: borrowing TierKeys) throws(VaultError) {
    guard keys.deleted.isWaiting else { return }
    let (unlocked, session) = (try chain(tiers.unlocked), try chain(tiers.session))
    do { try keys.deleted.open(unlocked: unlocked, session: session, epoch: rotation.epoch) } catch {
      throw .outOfMemory
    }
  }

  /// The beginning of a tier key's chain.
  func chain(_ tier: borrowing Key) throws(VaultError) -> KeyChain {
    let vault = try database.ready().vault
    do { return try KeyChain(tier: tier, vault: vault) } catch { throw .outOfMemory }
  }
}
