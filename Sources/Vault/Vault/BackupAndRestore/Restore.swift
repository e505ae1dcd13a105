import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// A restore of a backup into an unlocked vault. It takes one record at a time, and decides the record's outcome. Nothing is
/// written until ``finish()``, which writes everything in one transaction.
///
/// The rows that wait are sealed already, under the vault's own keys.
public final class Restore {
  private let vault: Vault
  private let id: [UInt8]
  private let takesTheirs: Bool
  private let isDry: Bool
  private let index: AttributeIndex
  /// Opens items that are bound to this device; nil until the backup's device is known, and if it is another device.
  private var seal: BackupSeal?
  private var targets: [RestoreTarget] = []
  private var drafts: [RestoreDraft] = []
  private var groups: [RestoreGroup.Name: RestoreGroup] = [:]
  /// The backup's collections that have no target yet.
  private var pending: [BackupCollection] = []
  private var newUUIDs: Set<[UInt8]> = []
  /// The key under which secrets are compared.
  private let comparison: HeldKey
  /// The chains that give new collections their keys, and the ordinal at which the chains begin.
  private var chains: TierChains
  private let firstOrdinal: UInt64?
  /// The epoch of the keys under which everything is sealed.
  private let epoch: UInt32
  private var held = 0
  private let heldLimit: Int

  /// The decisions so far.
  public private(set) var report = ArchiveReport()

  /// Begins.
  ///
  /// - Parameters:
  ///   - id: the backup's.
  ///   - takingTheirs: whether an item replaces one with the same attributes and another secret.
  ///   - isDry: whether nothing is written.
  /// - Throws: ``VaultError/isLocked`` unless the vault is unlocked, and any error that prevents writing.
  public init(_ vault: Vault, id: [UInt8], takingTheirs: Bool, isDry: Bool) throws(VaultError) {
    _ = try vault.database.writable()
    guard vault.isUnlocked else { throw .isLocked }
    self.vault = vault
    self.id = id
    takesTheirs = takingTheirs
    self.isDry = isDry
    index = try vault.keys.readyIndex()
    chains = vault.keys.chains
    firstOrdinal = vault.keys.chains.session?.ordinal
    epoch = vault.rotation.epoch
    heldLimit = Int(clamping: Memory.available / 2)
    do { comparison = HeldKey(try Key.random()) } catch { throw .outOfMemory }
  }

  // MARK: - records

  /// Takes the next record, and decides its outcome.
  public func take(_ record: consuming BackupRecord) throws(VaultError) {
    guard vault.isUnlocked else { throw .isLocked }
    if !vault.isVerified { _ = vault.verifyStep() }
    switch consume record {
    case .beginning(let beginning):
      if let device = beginning.device { seal = try vault.device.openBackupSeal(device, id: id) }
    case .collection(let collection):
      try hold(collection.label.utf8.count + Restore.collectionSize)
      pending.append(collection)
    case .item(let item):
      try placeAll()
      try hold(Restore.itemSize)
      try take(item)
    case .end: try placeAll()
    }
  }

  /// The memory for a collection's keys, and for an item's line of the report and place in a group, in bytes.
  private static let (collectionSize, itemSize) = (16384, 512)

  private func hold(_ size: Int) throws(VaultError) {
    held += size
    guard held <= heldLimit else {
      throw .unavailable(.item(.backupTooLarge))
    }
  }

  // MARK: - collections

  /// Finds targets for all collections whose records came together.
  private func placeAll() throws(VaultError) {
    guard !pending.isEmpty else { return }
    let taken = Set(targets.compactMap { $0.collection.map { ObjectIdentifier($0) } })
    let free = vault.keys.collections.filter { !taken.contains(ObjectIdentifier($0)) }
    for (theirs, found) in zip(pending, try vault.collections.counterparts(of: pending, among: free)) {
      if let found { try place(theirs, in: found) } else { placeNew(theirs) }
    }
    pending = []
  }

  private func obstacle(_ collection: OpenCollection) -> Reason? {
    if collection.row.locked { return .item(.hereLocked) }
    return collection.isLockedByItself ? .item(.hereWaits) : nil
  }

  private func place(_ theirs: BackupCollection, in found: OpenCollection) throws(VaultError) {
    let label = try vault.collections.info(of: found.row.id).label
    targets.append(RestoreTarget(found.isLockedByItself ? nil : found, theirs, label: label, obstacle: obstacle(found)))
  }

  /// The reason why the vault cannot make a collection; nil if it can.
  private func obstacle(new theirs: BackupCollection) -> Reason? {
    if theirs.label.utf8.contains(0) { return .item(.impossibleCollection) }
    if theirs.label.utf8.count > VaultCollections.labelLimit { return .item(.labelTooLong) }
    let count = vault.keys.collections.count + newUUIDs.count
    guard count < VaultCollections.limit, let firstOrdinal,
      firstOrdinal + UInt64(newUUIDs.count) < Store.collectionLimit
    else { return .collectionLimit(VaultCollections.limit) }
    return nil
  }

  private func placeNew(_ theirs: BackupCollection) {
    if let obstacle = obstacle(new: theirs) {
      report.lines.append(
        .init(.notice, collection: theirs.label, reason: .because(.item(.collectionStays), obstacle)))
      return targets.append(RestoreTarget(nil, theirs, obstacle: .because(.item(.itsCollectionStays), obstacle)))
    }
    let isKnown = vault.keys.collections.contains { $0.row.uuid == theirs.uuid } || newUUIDs.contains(theirs.uuid)
    let uuid = isKnown ? Sodium.randomBytes(16) : theirs.uuid
    newUUIDs.insert(uuid)
    targets.append(RestoreTarget(theirs, newWith: uuid))
    report.lines.append(.init(.notice, collection: theirs.label, reason: .item(.collectionIsNew)))
    if theirs.hadPassphrase {
      report.lines.append(
        .init(
          .notice, collection: theirs.label,
          reason: .item(.passphraseIsGone)))
    }
  }

  /// Makes a new collection that is not on the disk yet. A new collection takes time, so each is made when it is needed.
  private func draft(_ target: RestoreTarget) throws(VaultError) -> OpenCollection {
    if let drafted = target.collection { return drafted }
    guard let theirs = target.theirs, var unlocked = chains.unlocked, var session = chains.session,
      unlocked.ordinal == session.ordinal
    else { throw .isLocked }
    let uuid = target.uuid
    let drafted = Set(targets.compactMap { $0.isNew ? $0.collection?.name : nil })
    let name = vault.collections.newName(
      theirs.label, former: theirs.name, besides: vault.collections.takenNames.union(drafted))
    let row = CollectionRow(
      id: 0, uuid: uuid, ordinal: session.ordinal, epoch: UInt64(vault.rotation.epoch),
      label: try vault.collections.seal(CollectionTitle(label: theirs.label, name: name), uuid: uuid, index: index),
      locked: false,
      passphrase: nil,
      defaultClass: nil, created: theirs.created, modified: max(Process.time, theirs.created))
    let collection = try OpenCollection(row, classes: [])
    collection.name = name
    let vaultID = try vault.database.ready().vault
    do {
      try collection.take(
        unlocked: try unlocked.next(uuid: uuid), session: try session.next(uuid: uuid), epoch: vault.rotation.epoch,
        former: [],
        lacksFormer: false, share: vault.keys.share, vault: vaultID)
    } catch let error as VaultError { throw error } catch { throw .outOfMemory }
    try collection.draftClasses(share: vault.keys.share, vault: vaultID)
    chains = .unlocked(unlocked, session: session)
    target.collection = collection
    return collection
  }

  // MARK: - items

  private func take(_ item: consuming BackupItem) throws(VaultError) {
    let number = report.items
    report.items += 1
    let target = targets[Int(item.collection)]
    let (accessibility, created, modified) = (item.accessibility, item.created, item.modified)
    var encoded = item.metadata
    let sealing = item.sealing
    var secret = item.takeSecret()
    func leave(_ label: String, _ reason: Reason?) {
      report.add(
        .init(.left, collection: target.label, label: label, accessibility: accessibility, reason: reason))
    }
    if sealing != .none {
      guard let seal else {
        let label = sealing == .secret ? (try? ItemMetadata.decode(encoded))?.metadata.label : nil
        return leave(label ?? "item \(number + 1) of the backup", .item(.otherDeviceOrAccount))
      }
      do throws(SodiumError) {
        if sealing == .everything {
          encoded = try seal.open(metadata: encoded, accessibility, number: number)
        }
        secret = try seal.open(secret: secret, accessibility, number: number, metadata: encoded)
      } catch {
        if error == .outOfMemory { throw .outOfMemory }
        return leave("item \(number + 1) of the backup", .item(.doesNotOpen))
      }
    }
    guard let metadata = (try? ItemMetadata.decode(encoded))?.metadata else {
      return leave("item \(number + 1) of the backup", .item(.labelUnreadable))
    }
    guard (try? metadata.checkSize()) != nil, secret.count <= SealedItem.secretLimit else {
      return leave(metadata.label, .item(.tooLarge))
    }
    guard metadata.isPossible else { return leave(metadata.label, .item(.impossible)) }
    guard metadata.flags == 0 else { return leave(metadata.label, .item(.hasRequirements)) }
    guard let collection = target.isNew ? try draft(target) : target.collection else {
      return leave(metadata.label, target.obstacle)
    }
    // The collection was locked meanwhile.
    guard !collection.isLockedByItself else { return leave(metadata.label, obstacle(collection)) }
    guard let key = collection.current(accessibility, share: vault.keys.share), key.secretKey != nil,
      key.metadataKey != nil
    else { return leave(metadata.label, .item(.noClassKey)) }
    try decide(
      RestoredItem(
        target: target, collection: collection, key: key, metadata: metadata, created: created, modified: modified),
      secret)
  }

  private func decide(_ item: RestoredItem, _ secret: borrowing SecureBytes) throws(VaultError) {
    func line(_ outcome: ArchiveReport.Outcome, _ reason: Reason? = nil) -> ArchiveReport.Line {
      .init(
        outcome, collection: item.target.label, label: item.metadata.label,
        accessibility: item.key.row.accessibility, reason: reason)
    }
    let tokens = try index.column(for: item.metadata.attributes)
    guard !item.target.isNew else {
      report.add(line(.added))
      return try keep(item, secret, tokens: tokens, in: nil, replacing: nil)
    }
    let group = try group(of: try index.setTokens(of: item.metadata.attributes), in: item.collection)
    let tag = try tag(of: secret)
    if let same = group.candidates.firstIndex(where: { $0.use != .replaced && $0.tag == tag }) {
      group.candidates[same].use = .same
      report.same += 1
      return
    }
    let free = group.candidates.firstIndex { $0.use == .free && $0.tag != nil }
    if group.candidates.isEmpty || (takesTheirs && free == nil && group.candidates.allSatisfy { $0.tag != nil }) {
      report.add(line(.added))
      return try keep(item, secret, tokens: tokens, in: group, replacing: nil)
    }
    guard takesTheirs, let free else {
      let reason: ItemReason =
        free == nil && takesTheirs
        ? .presentUnreadable : .otherSecret
      return report.add(line(.conflict, .item(reason)))
    }
    // A restore removes no condition of the present item, and no condition of the backup's item.
    let old = group.candidates[free]
    let both = old.accessibility.joined(with: item.key.row.accessibility)
    guard let key = item.collection.current(both, share: vault.keys.share), key.secretKey != nil, key.metadataKey != nil
    else { return report.add(line(.conflict, .noKeyForClass(both.name))) }
    var stricter = item
    stricter.key = key
    group.candidates[free].use = .replaced
    report.add(line(.replaced))
    try keep(stricter, secret, tokens: tokens, in: group, replacing: old)
  }

  private func group(of tokens: [[UInt8]], in collection: OpenCollection) throws(VaultError) -> RestoreGroup {
    let name = RestoreGroup.Name(collection: collection.row.id, tokens: tokens)
    if let known = groups[name] { return known }
    var candidates: [RestoreGroup.Candidate] = []
    for id in try items(of: name) {
      let item = try vault.reader.locate(id)
      candidates.append(RestoreGroup.Candidate(item, tag: try tagIfReadable(item)))
    }
    let group = RestoreGroup(name, candidates)
    groups[name] = group
    return group
  }

  private func items(of name: RestoreGroup.Name) throws(VaultError) -> [Int64] {
    try vault.database.reading { store throws(VaultError) in
      var found: [Int64] = []
      for token in name.tokens {
        found += try store.places(withTokens: [token]).filter { $0.collection == name.collection }.map(\.item)
      }
      return found
    }
  }

  private func tagIfReadable(_ item: SealedItem) throws(VaultError) -> [UInt8]? {
    do throws(VaultError) {
      // An item with requirements is neither compared nor replaced, because no prompt has asked the person.
      guard item.row.form != .quarantined, item.row.access == nil else { return nil }
      let exported = try vault.reader.exported(item)
      return try tag(of: exported.takeSecret())
    } catch {
      switch error {
      case .isLocked, .isLockedByItself, .otherDevice, .deviceMissing, .foreignItem, .needsGrant: return nil
      default: throw error
      }
    }
  }

  private func tag(of secret: borrowing SecureBytes) throws(VaultError) -> [UInt8] {
    do throws(SodiumError) {
      var hash = try KeyedHash(key: comparison.key)
      hash.update(secret.bytes)
      return hash.tag()
    } catch { throw .outOfMemory }
  }

  /// Seals an item for the vault, and keeps it for ``finish()``.
  private func keep(
    _ item: RestoredItem, _ secret: borrowing SecureBytes, tokens: [UInt8], in group: RestoreGroup?,
    replacing old: RestoreGroup.Candidate?
  ) throws(VaultError) {
    guard !isDry else { return }
    // Items of a backup are never stored as if their class were locked.
    guard item.key.secretKey != nil else { throw .isLocked }
    let created = old?.created ?? item.created
    var sealed = SealedItem(
      vault: try vault.database.ready().vault,
      row: ItemRow(
        id: old?.id ?? 0, uuid: old?.uuid ?? Sodium.randomBytes(16), collection: item.collection.row.id,
        classKey: item.key.row.id, form: .wrapped, created: created, modified: created, metadata: [], itemKey: [],
        lockedTag: nil, access: nil, secret: [], tokens: []),
      collection: item.collection, key: item.key, share: vault.keys.share)
    try sealed.seal(
      item.metadata, secret: secret, tokens: tokens, modified: max(item.modified, created), passphraseKey: nil)
    let row = sealed.row
    try hold(row.secret.count + row.metadata.count + row.tokens.count)
    drafts.append(
      RestoreDraft(
        target: item.target, key: item.key, row: row, replaces: old != nil,
        isStricter: old.map { $0.accessibility != item.key.row.accessibility } ?? false, group: group,
        line: report.lines.count - 1))
  }

  // MARK: - the end

  /// Verifies a little more of the vault's database. ``finish()`` needs the whole database verified, and verifies the rest at once.
  ///
  /// - Returns: whether there is more.
  public func verify() -> Bool { !isDry && !vault.isVerified && vault.verifyStep() }

  /// Writes everything in one transaction: when this returns, all of it is on the disk, or nothing. Call this only when the whole
  /// backup was read.
  public func finish() throws(VaultError) -> Changes {
    guard !isDry else { return Changes() }
    guard vault.isUnlocked else { throw .isLocked }
    // An unchecked index may not lead to every item that exists.
    while !vault.isVerified, vault.verifyStep() {}
    _ = try vault.database.writable()
    guard vault.rotation.epoch == epoch else {
      throw .unavailable(.item(.newKeysMeanwhile))
    }
    let isDrafting = !newUUIDs.isEmpty
    guard !isDrafting || vault.keys.chains.session?.ordinal == firstOrdinal else {
      throw .unavailable(.item(.collectionCreatedMeanwhile))
    }
    let isThere = { (target: RestoreTarget) in
      target.isNew || target.collection.map { theirs in self.vault.keys.collections.contains { $0 === theirs } } ?? true
    }
    guard targets.allSatisfy(isThere) else {
      throw .unavailable(.item(.collectionDeletedMeanwhile))
    }
    guard !drafts.contains(where: { $0.target.collection?.isLockedByItself ?? false }) else {
      throw .unavailable(.item(.collectionLockedByProgram))
    }
    // A program may have stored items since the decisions. If so, the present items stay. A rehearsal reads nothing again, because
    // nothing can come between within this step.
    var (looked, stale): (Set<ObjectIdentifier>, Set<ObjectIdentifier>) = ([], [])
    for group in drafts.compactMap(\.group) where looked.insert(ObjectIdentifier(group)).inserted {
      if try hasChanged(group) { stale.insert(ObjectIdentifier(group)) }
    }
    let isStale = { (draft: RestoreDraft) in draft.group.map { stale.contains(ObjectIdentifier($0)) } ?? false }
    for target in targets where target.isNew { _ = try draft(target) }
    // Generations lose these items before the write, as any item with better protection.
    for draft in drafts where draft.isStricter && !isStale(draft) { vault.history.tighten(draft.row.uuid) }
    var changes = Changes()
    let made = try vault.database.writing { store throws(VaultError) in
      changes = Changes()
      let made = try insertCollections(store)
      var next = try store.nextID(.item)
      for draft in drafts where !isStale(draft) {
        var row = draft.row
        if draft.replaces {
          try store.update(row)
          changes.replaced.append((row.collection, row.id))
          continue
        }
        row.id = next
        next += 1
        if let new = made[ObjectIdentifier(draft.target)], let key = new.keys[ObjectIdentifier(draft.key)] {
          (row.collection, row.classKey) = (new.row.id, key.id)
        }
        try store.insert(row)
        changes.added.append((row.collection, row.id))
      }
      return made
    }
    for target in targets {
      guard let new = made[ObjectIdentifier(target)], let collection = target.collection else { continue }
      collection.row = new.row
      for key in collection.classes { if let row = new.keys[ObjectIdentifier(key)] { key.adopt(row, epoch: epoch) } }
      vault.keys.collections.append(collection)
      changes.collections.append(new.row.id)
    }
    if isDrafting { vault.keys.chains = chains }
    for draft in drafts where isStale(draft) {
      report.turnIntoConflict(draft.line, reason: .item(.storedMeanwhile))
    }
    drafts = []
    return changes
  }

  /// The rows of a new collection, with their numbers.
  private struct NewCollection {
    let row: CollectionRow
    let keys: [ObjectIdentifier: ClassKeyRow]
  }

  private func insertCollections(_ store: Store) throws(VaultError) -> [ObjectIdentifier: NewCollection] {
    var made: [ObjectIdentifier: NewCollection] = [:]
    for target in targets {
      guard let collection = target.collection else { continue }
      var row = collection.row
      if target.isNew {
        row.id = try store.nextID(.collection)
        try store.insert(row)
        var keys: [ObjectIdentifier: ClassKeyRow] = [:]
        for key in collection.classes {
          var next = key.row
          (next.id, next.collection) = (try store.nextID(.classKey), row.id)
          try store.insert(next)
          keys[ObjectIdentifier(key)] = next
        }
        made[ObjectIdentifier(target)] = NewCollection(row: row, keys: keys)
      }
      for (name, alias) in BackupCollection.Aliases.names where target.aliases.contains(alias) {
        let token = try index.aliasToken(name)
        if try store.alias(token) == nil { try store.setAlias(token, row.id) }
      }
    }
    return made
  }

  private func hasChanged(_ group: RestoreGroup) throws(VaultError) -> Bool {
    guard try items(of: group.name) == group.candidates.map(\.id) else { return true }
    for candidate in group.candidates {
      let now = try vault.database.reading { store throws(VaultError) in try store.item(candidate.id) }
      if now?.itemKey != candidate.itemKey { return true }
    }
    return false
  }
}
