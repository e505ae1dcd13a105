import LatchkeyKeybag
import LatchkeySodium

/// A deleted collection that comes back from a generation. It keeps its uuid, to which everything in it is bound, and its class
/// keys.
///
/// The collection gets a new place in the chain of collection keys, because another collection may have its former place by now. So
/// its class keys are wrapped again, with the keys of that place.
struct CollectionRevival {
  private let row: CollectionRow
  /// The class keys with their numbers in the generation, in that order.
  private let classes: [ClassKeyRow]
  private let aliases: [[UInt8]]
  private let keys: DeletedCollections.Keys
  private let share: DeviceShare?

  /// Takes the next place of both chains.
  ///
  /// - Parameters:
  ///   - past: the collection's version in the generation.
  ///   - aliases: the tokens of the aliases.
  /// - Throws: ``VaultError/isLocked``, ``VaultError/tooLarge``.
  init(
    _ past: OpenCollection, aliases: [[UInt8]], of vault: Vault, chains: inout TierChains
  ) throws(VaultError) {
    guard var unlocked = chains.unlocked, var session = chains.session, unlocked.ordinal == session.ordinal else {
      throw .isLocked
    }
    guard session.ordinal < Store.collectionLimit else { throw .tooLarge }
    let (id, uuid, ordinal) = (try vault.database.ready().vault, past.row.uuid, session.ordinal)
    do {
      keys = DeletedCollections.Keys(
        unlocked: try unlocked.next(uuid: uuid), session: try session.next(uuid: uuid), epoch: vault.rotation.epoch)
    } catch { throw .outOfMemory }
    chains = .unlocked(unlocked, session: session)
    (share, self.aliases) = (vault.keys.share, aliases)
    row = CollectionRow(
      id: past.row.id, uuid: uuid, ordinal: ordinal, epoch: UInt64(vault.rotation.epoch), label: past.row.label,
      locked: false,
      passphrase: nil, defaultClass: nil, created: past.row.created, modified: past.row.modified)
    let above = ClassKey.Above(
      epoch: keys.epoch, unlocked: keys.unlocked, session: keys.session, share: share, passphrase: nil)
    var classes: [ClassKeyRow] = []
    for key in past.classes {
      // Class keys of another device stay behind with their items, except class keys with a copy for every device.
      if let next = try key.rewrapped(vault: id, collection: uuid, above: above) {
        classes.append(next)
      } else if let next = try key.recopied(vault: id, collection: uuid, above: above) {
        classes.append(next)
      }
    }
    self.classes = classes.sorted { $0.id < $1.id }
  }

  /// The rows that will be on the disk when the transaction ends.
  struct Written {
    let collection: OpenCollection
    /// The new number of each class key, by the class key's number in the generation.
    let classKeys: [Int64: Int64]
  }

  /// Writes the rows. The collection gets its former number if that is free, so no object path ever leads to another collection
  /// than before.
  func write(into store: Store) throws(VaultError) -> Written {
    var row = row
    let next = try store.nextID(.collection)
    let taken = try store.collections().map(\.id)
    if row.id < 1 || row.id >= next || taken.contains(row.id) { row.id = next }
    try store.insert(row)
    var (numbers, rows): ([Int64: Int64], [ClassKeyRow]) = ([:], [])
    for past in classes {
      var new = past
      (new.id, new.collection) = (try store.nextID(.classKey), row.id)
      try store.insert(new)
      numbers[past.id] = new.id
      rows.append(new)
    }
    for token in aliases where try store.alias(token) == nil { try store.setAlias(token, row.id) }
    let collection = try OpenCollection(row, classes: rows)
    try collection.take(keys, share: share, vault: store.vault)
    collection.adopt(try collection.makeMissingClasses(share: share, in: store))
    return Written(collection: collection, classKeys: numbers)
  }
}
