import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// Brings items back from a generation into the unlocked vault. The outcome of each is decided, a few items at a time.
/// Nothing is written until ``finish()``, which writes everything in one transaction.
///
/// The row of a missing item comes back unchanged, with its requirements, so its secret is not decrypted. If the vault has another
/// version, both secrets are decrypted to compare them. An item is encrypted again only if it replaces another item, or gets a
/// stricter class.
public final class HistoryRestore {
  /// The row to write.
  private struct Draft {
    var row: ItemRow
    /// The item that the draft replaces; nil if it replaces no item.
    let counterpart: Int64?
    /// The key of the item to replace. Each write changes it.
    let expected: [UInt8]?
    /// The token of the attributes, by which the final check looks for the item again.
    let token: [UInt8]
    let line: Int
    /// Whether the item gets a stricter class than it has now.
    let isStricter: Bool
    /// The number of the item's collection in the generation, if the vault does not have that collection any more.
    let deleted: Int64?
  }

  private let vault: Vault
  private let past: OpenedGeneration
  private let selected: SelectedItems
  private let replaces: Bool
  private let isDry: Bool
  private let epoch: UInt32
  private var position: Int64 = 0
  private var drafts: [Draft] = []
  private var held = 0
  private let heldLimit: Int
  /// The items of the vault that an item of the generation was already matched with.
  private var taken: Set<Int64> = []
  /// The deleted collections that the report already mentions.
  private var told: Set<Int64> = []
  /// The deleted collections that cannot be searched by attributes, because their keys are missing.
  private var unread: Set<Int64> = []
  /// The number of deleted collections that come back.
  private var revived = 0

  /// The number of items that were looked at, of all the selected items.
  public private(set) var done: UInt64 = 0
  /// See ``done``.
  public let total: UInt64

  /// The decisions so far.
  public private(set) var report = ArchiveReport()

  private static let batch = 32

  /// Begins.
  ///
  /// - Parameters:
  ///   - replacing: whether an item that changed since gets its former state. An item that requires something now is never
  ///     replaced.
  ///   - isDry: whether nothing is written.
  /// - Throws: ``VaultError/isLocked`` unless the vault is unlocked; other errors if there is no such generation, or it cannot
  ///   be read.
  public init(
    _ vault: Vault, from number: UInt32, _ selection: HistorySelection, replacing: Bool, isDry: Bool
  ) throws(VaultError) {
    _ = try vault.database.writable()
    guard vault.isUnlocked else { throw .isLocked }
    self.vault = vault
    var past = try OpenedGeneration(vault, number: number)
    // Nobody can be asked for a password here, so the device key gives the keys of the deleted collections now.
    if vault.isPasswordless, !past.waiting.isEmpty {
      for row in past.waiting { vault.keys.deleted.want(row) }
      do throws(VaultError) { try vault.openByDevice() } catch {
        // The next password is given for something else.
        vault.keys.deleted.forget()
        let next = vault.isUnlocked ? ItemReason.againWhenUsable : .againWhenUnlocked
        throw .unavailable(.both(.because(.item(.needsDeviceKey), error.reason), .item(next)))
      }
      past = try OpenedGeneration(vault, number: number)
    }
    self.past = past
    selected = try SelectedItems(selection, vault)
    (replaces, self.isDry, epoch) = (replacing, isDry, vault.rotation.epoch)
    heldLimit = Int(clamping: Memory.available / 2)
    total = UInt64(clamping: try past.itemCount())
  }

  /// Decides about a few items.
  ///
  /// - Returns: whether there are more. If not, ``finish()`` writes.
  public func step() throws(VaultError) -> Bool {
    guard vault.isUnlocked else { throw .isLocked }
    // An unchecked index may not lead to every item that exists.
    if !vault.isVerified, vault.verifyStep() { return true }
    _ = try vault.database.writable()
    let end = Process.now + History.stepTime
    repeat {
      let batch = try past.items(after: position, limit: Self.batch)
      for id in batch {
        position = id
        done += 1
        try take(id)
      }
      if batch.isEmpty {
        // If another item has the attributes now, the person means that item.
        if report.items == 0 { for row in past.waiting where unread.contains(row.id) { openAtNextUnlock(row) } }
        return false
      }
    } while Process.now < end
    return true
  }

  private func take(_ id: Int64) throws(VaultError) {
    let item: PastItem
    do throws(VaultError) { item = try past.item(id) } catch {
      guard case .damaged(let reason) = error else { throw error }
      // The row is damaged and does not say which item it was, so it counts only if everything was selected.
      guard case .everything = selected.selection else { return }
      report.items += 1
      return report.add(.init(.left, collection: "", label: "item \(id) of the generation", reason: reason))
    }
    guard selected.includes(item, of: past) else {
      // The item's attributes are known once its keys are in memory.
      if case .attributes = selected.selection, past.isWaiting(item) { unread.insert(item.row.collection) }
      return
    }
    report.items += 1
    try decide(item)
  }

  /// Notes that the next unlock must open a deleted collection, and reports that its items wait for the unlock.
  private func openAtNextUnlock(_ collection: CollectionRow) {
    guard told.insert(collection.id).inserted else { return }
    vault.keys.deleted.want(collection)
    report.lines.append(
      .init(
        .notice, collection: past.label(of: collection),
        reason: .item(.unlockToBringBack)))
  }

  /// Says that a deleted collection comes back.
  ///
  /// - Returns: why the collection cannot come back; nil if it can.
  private func revive(_ collection: OpenCollection) -> Reason? {
    guard !told.contains(collection.row.id) else { return nil }
    let ordinal = vault.keys.chains.session?.ordinal ?? Store.collectionLimit
    guard vault.keys.collections.count + revived < VaultCollections.limit,
      ordinal + UInt64(revived) < Store.collectionLimit
    else { return .collectionLimit(VaultCollections.limit) }
    told.insert(collection.row.id)
    revived += 1
    report.lines.append(
      .init(
        .notice, collection: past.label(of: collection.row),
        reason: .item(isDry ? .wouldComeBack : .isBack)))
    return nil
  }

  private func line(_ item: PastItem, _ outcome: ArchiveReport.Outcome, _ reason: Reason? = nil) -> ArchiveReport.Line {
    .init(
      outcome, collection: past.label(of: item.collection),
      label: item.opened?.metadata.label ?? "item \(item.row.id) of the generation", accessibility: item.accessibility,
      reason: reason)
  }

  private func decide(_ item: PastItem) throws(VaultError) {
    let (row, present) = (item.row, try presentRow(item))
    if past.isWaiting(item) { openAtNextUnlock(item.collection) }
    if let present, present.hasContent(of: row) {
      report.same += 1
      return
    }
    if let obstacle = item.obstacle { return report.add(line(item, .left, obstacle)) }
    guard var sealed = item.sealed, let opened = item.opened else { return }
    // A deletion must not remove the item's protection.
    if present == nil, vault.history.isTightened(row.uuid) {
      return report.add(line(item, .left, OpenedGeneration.tightened))
    }
    if let deleted = past.deleted(row.collection) {
      guard present == nil else { return report.add(line(item, .conflict, .item(.movedToOther))) }
      if let obstacle = revive(deleted) { return report.add(line(item, .left, obstacle)) }
      // An item that was stored while its class was locked depends on former keys.
      let isRewrapped = row.form == .wrapped ? true : try sealed.rewrap(opened)
      guard isRewrapped, sealed.row.form == .wrapped else {
        return report.add(line(item, .left, .item(.classKeysGone)))
      }
      report.add(line(item, .added))
      return try keep(sealed.row, row, nil, deleted: row.collection)
    }
    guard let home = past.home(of: item) else { return }
    guard let present else {
      // While a change of keys is under way its class may have newer keys.
      if home.isOutdated(sealed.key) {
        guard let newer = home.current(item.accessibility, share: vault.keys.share),
          try sealed.rewrap(opened, under: newer)
        else { return report.add(line(item, .left, .item(.classKeysGone))) }
      }
      report.add(line(item, .added))
      sealed.row.collection = home.row.id
      sealed.row.classKey = home.isOutdated(sealed.key) ? sealed.row.classKey : sealed.key.row.id
      return try keep(sealed.row, row, nil)
    }
    try decide(item, sealed, opened, in: home, over: present)
  }

  /// Decides about an item if the vault has another version of it, or another item with its attributes.
  private func decide(
    _ item: PastItem, _ sealed: SealedItem, _ opened: OpenedMetadata, in home: OpenCollection, over present: ItemRow
  ) throws(VaultError) {
    let now = try vault.reader.locate(present)
    let isGuarded = present.access != nil || item.row.access != nil
    if !isGuarded, try hasSameContent(sealed, opened, as: now) {
      report.same += 1
      return
    }
    let isOther = present.uuid != item.row.uuid
    guard replaces else {
      return report.add(
        line(
          item, .conflict,
          isOther ? .item(.otherSecret) : .item(.changedSince)))
    }
    guard present.access == nil, !(isOther && isGuarded) else {
      return report.add(line(item, .conflict, .item(.nobodyAsked)))
    }
    guard now.key.secretKey != nil, !vault.reader.isLockedByItself(item: present.id), taken.insert(present.id).inserted
    else { return report.add(line(item, .conflict, .item(.presentIsLocked))) }
    // No item becomes less protected than it is.
    let both = now.accessibility.joined(with: item.accessibility)
    if !isOther, both == item.accessibility, !home.isOutdated(sealed.key) {
      var row = item.row
      (row.id, row.collection, row.classKey) = (present.id, home.row.id, sealed.key.row.id)
      report.add(line(item, .replaced))
      return try keep(row, item.row, present, isStricter: both != now.accessibility)
    }
    guard !isGuarded, let key = home.current(both, share: vault.keys.share), key.secretKey != nil else {
      return report.add(line(item, .conflict, .isOfClass(both.name)))
    }
    let secret = try sealed.openSecret(opened, sealed.itemKey(opened), passphraseKey: nil)
    var next = SealedItem(
      vault: sealed.vault, row: present, collection: home, key: key, share: vault.keys.share)
    (next.row.form, next.row.lockedTag, next.row.classKey) = (.wrapped, nil, key.row.id)
    try next.seal(
      opened.metadata, secret: secret, tokens: item.row.tokens, modified: max(item.row.modified, present.created),
      passphraseKey: nil)
    report.add(line(item, .replaced))
    try keep(next.row, item.row, present, isStricter: both != now.accessibility)
  }

  /// The same item in the vault, or the vault's item with exactly the same attributes; nil if there is neither.
  private func presentRow(_ item: PastItem) throws(VaultError) -> ItemRow? {
    let home = past.home(of: item)?.row.id
    return try vault.database.reading { store throws(VaultError) in
      if let id = try store.item(uuid: item.row.uuid) { return try store.item(id) }
      guard let home, let id = try counterpart(Self.token(of: item.row), in: home, store) else { return nil }
      return try store.item(id)
    }
  }

  private static func token(of row: ItemRow) -> [UInt8] { Array(row.tokens.suffix(AttributeIndex.tokenSize)) }

  private func counterpart(_ token: [UInt8], in home: Int64, _ store: Store) throws(VaultError) -> Int64? {
    try store.places(withTokens: [token]).first { $0.collection == home }?.item
  }

  private func hasSameContent(
    _ item: SealedItem, _ opened: OpenedMetadata, as now: SealedItem
  ) throws(VaultError) -> Bool {
    guard now.row.form != .quarantined, now.key.secretKey != nil, let present = try vault.reader.metadata(now) else {
      return false
    }
    var (first, second) = (opened.metadata, present.metadata)
    // If another item has the same attributes, only its secret is compared, as in a restore of a backup.
    if now.row.uuid != item.row.uuid { (first.label, second.label) = ("", "") }
    guard first == second else { return false }
    let theirs = try item.openSecret(opened, item.itemKey(opened), passphraseKey: nil)
    let ours = try now.openSecret(present, now.itemKey(present), passphraseKey: nil)
    return Sodium.equal(theirs.bytes, ours.bytes)
  }

  private func keep(
    _ row: ItemRow, _ original: ItemRow, _ present: ItemRow?, isStricter: Bool = false, deleted: Int64? = nil
  ) throws(VaultError) {
    guard !isDry else { return }
    held += row.secret.count + row.metadata.count + row.tokens.count + 512
    guard held <= heldLimit else {
      throw .unavailable(.item(.generationTooLarge))
    }
    drafts.append(
      Draft(
        row: row, counterpart: present?.id, expected: present?.itemKey, token: Self.token(of: original),
        line: report.lines.count - 1, isStricter: isStricter, deleted: deleted))
  }

  /// Writes everything in one transaction: when this returns, all of it is on the disk, or nothing. An item that a program stored
  /// or changed meanwhile stays. Call this only when ``step()`` says that there is no more.
  public func finish() throws(VaultError) -> Restore.Changes {
    guard !isDry, !drafts.isEmpty else { return Restore.Changes() }
    guard vault.isUnlocked else { throw .isLocked }
    guard vault.rotation.epoch == epoch else {
      throw .unavailable(.item(.newKeysMeanwhile))
    }
    for home in Set(drafts.filter { $0.deleted == nil }.map(\.row.collection)) {
      guard let collection = try? vault.keys.collection(home), !collection.isLockedByItself else {
        throw .unavailable(.item(.collectionGoneMeanwhile))
      }
    }
    var chains = vault.keys.chains
    let revivals = try revivals(&chains)
    var changes = Restore.Changes()
    var stale: [Int] = []
    // These items are reported before they are written, as for any other item that is better protected from now on.
    try vault.database.reading { store throws(VaultError) in
      for draft in drafts where draft.counterpart != nil && (draft.isStricter || draft.row.access != nil) {
        if try isCurrent(draft, store) { vault.history.tighten(draft.row.uuid) }
      }
    }
    let written = try vault.database.writing { store throws(VaultError) in
      (changes, stale) = (Restore.Changes(), [])
      var next = try store.nextID(.item)
      // All items are checked first: a generation may have several items with the same attributes.
      var current: [Draft] = []
      for draft in drafts {
        if try isCurrent(draft, store) { current.append(draft) } else { stale.append(draft.line) }
      }
      var written: [Int64: CollectionRevival.Written] = [:]
      for (id, revival) in revivals where current.contains(where: { $0.deleted == id }) {
        written[id] = try revival.write(into: store)
      }
      for draft in current {
        var row = draft.row
        if draft.counterpart != nil {
          try store.update(row)
          changes.replaced.append((row.collection, row.id))
          continue
        }
        row.id = next
        next += 1
        if let deleted = draft.deleted, let home = written[deleted] {
          guard let key = home.classKeys[row.classKey] else { throw .unavailable(.item(.deletedLostKeys)) }
          (row.collection, row.classKey) = (home.collection.row.id, key)
        }
        try store.insert(row)
        changes.added.append((row.collection, row.id))
      }
      return written
    }
    for (id, _) in revivals {
      guard let collection = written[id]?.collection else { continue }
      vault.keys.collections.append(collection)
      changes.collections.append(collection.row.id)
      if let row = past.deleted(id)?.row { vault.keys.deleted.erase(row) }
    }
    if !written.isEmpty {
      vault.keys.chains = chains
      vault.collections.nameAll()
    }
    for line in stale { report.turnIntoConflict(line, reason: .item(.changedMeanwhile)) }
    drafts = []
    return changes
  }

  /// The deleted collections that come back, in the order in which they were created.
  private func revivals(
    _ chains: inout TierChains
  ) throws(VaultError) -> [(Int64, CollectionRevival)] {
    var revivals: [(Int64, CollectionRevival)] = []
    for id in Set(drafts.compactMap(\.deleted)).sorted() {
      guard let collection = past.deleted(id) else { continue }
      guard vault.keys.collections.count + revivals.count < VaultCollections.limit,
        !vault.keys.collections.contains(where: { $0.row.uuid == collection.row.uuid })
      else { throw .unavailable(.item(.collectionCreatedMeanwhile)) }
      revivals.append(
        (id, try CollectionRevival(collection, aliases: past.aliases(of: id), of: vault, chains: &chains)))
    }
    return revivals
  }

  /// Whether the vault still has the state that a decision was made for.
  private func isCurrent(_ draft: Draft, _ store: Store) throws(VaultError) -> Bool {
    if let counterpart = draft.counterpart { return try store.item(counterpart)?.itemKey == draft.expected }
    guard try store.item(uuid: draft.row.uuid) == nil else { return false }
    // A deleted collection that comes back has no other items.
    if draft.deleted != nil { return true }
    return try counterpart(draft.token, in: draft.row.collection, store) == nil
  }
}
