/// Merges the readable rows of a damaged database into a copy of a generation. The copy has everything that was not changed
/// since.
struct HealingMerge {
  private let draft: Store
  private let salvage: Salvage

  /// The outcome for the items.
  struct Outcome {
    /// Items whose rows came from the damaged database.
    var taken: [Int64] = []
    /// Items that were taken from the generation, because their rows in the damaged database cannot be read.
    var older: [Int64] = []
    /// The items that can be read from neither file.
    var lost: [Int64] = []
    /// The items that are only in the generation, because they were deleted later.
    var dropped: [Int64] = []
    /// The collections that are only in the generation for the same reason.
    var droppedCollections: [Int64] = []
  }

  /// The order of the damaged database and the generation in time, as far as their counters and sealed numbers show it.
  enum Order {
    /// The damaged database is older than the generation.
    case older
    /// The order is unknown.
    case unknown
    /// The damaged database is as new as the generation or newer. So a row that it lacks was deleted.
    case notOlder
  }

  private let order: Order
  /// The outcome so far.
  private(set) var outcome = Outcome()

  /// The count of item numbers that are tried if the damaged table does not list its own.
  private static let guesses: Int64 = 100_000
  /// The count of numbers that are skipped if nobody knows the used ones. It is random, because another healing from the same
  /// generation must not give the same numbers again.
  private static var gap: Int64 { .random(in: 1 << 20..<1 << 21) }
  init(into draft: Store, from salvage: Salvage, order: Order) {
    (self.draft, self.salvage, self.order) = (draft, salvage, order)
  }

  /// Compares the counters, and the numbers that are sealed with the index keys.
  ///
  /// - Parameters:
  ///   - generations: the sealed numbers of the damaged database (nil if it does not open) and of the generation.
  static func order(
    of salvage: Salvage, and base: Store, generations: (damaged: UInt64?, base: UInt64)
  ) throws(VaultError) -> Order {
    var order = salvage.hasWholeLog ? Order.notOlder : .unknown
    if let damaged = generations.damaged {
      if damaged < generations.base { return .older }
    } else {
      order = .unknown
    }
    for table in NumberedTable.allCases {
      let last = try base.nextID(table) - 1
      guard let theirs = salvage.last(table) else {
        order = .unknown
        continue
      }
      if theirs < last { return .older }
    }
    return order
  }

  /// Merges, in one transaction.
  ///
  /// - Parameter keys: whether the rows of collections and class keys come from the damaged database, too.
  mutating func run(keys: Bool) throws(VaultError) {
    var merge = self
    try draft.transaction { () throws(VaultError) in
      if keys { try merge.mergeKeys() }
      try merge.mergeItems()
      if keys { try merge.dropKeys() }
      for table in NumberedTable.allCases {
        // The counter of a former moment may be behind.
        if merge.order == .notOlder, let last = merge.salvage.last(table) {
          try merge.draft.goOn(table, after: last)
        } else {
          try Self.leaveGap(in: merge.draft, table)
        }
      }
      // An index can name higher numbers than the counter. A number beyond the limit comes from damage, and no number would be left
      // after it.
      if let lost = merge.outcome.lost.filter({ $0 < Store.numberLimit }).max() {
        try merge.draft.goOn(.item, after: lost)
      }
    }
    self = merge
  }

  /// Skips numbers that may have been used. This is needed if a database is made again from a generation alone.
  static func leaveGaps(in draft: Store) throws(VaultError) {
    try draft.transaction { () throws(VaultError) in
      for table in NumberedTable.allCases { try leaveGap(in: draft, table) }
    }
  }

  private static func leaveGap(in draft: Store, _ table: NumberedTable) throws(VaultError) {
    let next = try draft.nextID(table)
    // A counter near its highest value leaves no room for a gap.
    let last = next + gap
    if last < Store.numberLimit { try draft.goOn(table, after: last) }
  }

  // MARK: - keys

  private func mergeKeys() throws(VaultError) {
    if let row = salvage.rows({ store throws(VaultError) in [try store.vaultRow()] }).found.first {
      guard row.vault == draft.vault else { throw Store.foreign }
      if order != .older { try draft.update(row) }
    }
    try mergeDevices()
    let collections = salvage.rows { store throws(VaultError) in try store.collections() }
    let classes = salvage.rows { store throws(VaultError) in try store.classKeys() }
    let past = (collections: try draft.collections(), classes: try draft.classKeys())
    for row in collections.found {
      let theirs = classes.found.filter { $0.collection == row.id }
      guard let before = past.collections.first(where: { $0.id == row.id }) else {
        try draft.insert(row)
        for key in theirs { try draft.insert(key) }
        continue
      }
      let ours = past.classes.filter { $0.collection == row.id }
      // A passphrase and the keys that depend on it belong together.
      let isWhole = classes.isWhole || ours.allSatisfy { key in theirs.contains { $0.uuid == key.uuid } }
      guard order != .older, before.uuid == row.uuid, before.modified <= row.modified,
        isWhole || before.passphrase == row.passphrase
      else { continue }
      var next = row
      // The merged collection depends on the older of both epochs.
      next = next.withEpoch(min(before.epoch, row.epoch))
      try draft.update(next)
      for key in theirs {
        if ours.contains(where: { $0.uuid == key.uuid }) { try draft.update(key) } else { try draft.insert(key) }
      }
    }
    try mergeAliases()
  }

  /// Drops the collections and class keys of the generation that were deleted since. A row that anything still refers to stays.
  private mutating func dropKeys() throws(VaultError) {
    guard order == .notOlder, salvage.agrees else { return }
    let theirs = salvage.references()
    if salvage.agrees(.classKey), let last = salvage.last(.classKey) {
      let found = Set(salvage.rows { store throws(VaultError) in try store.classKeys() }.found.map(\.uuid))
      for key in try draft.classKeys() where key.id <= last && !found.contains(key.uuid) {
        if theirs.classKeys.contains(key.id) { continue }
        if try draft.places(classKey: key.id).isEmpty { try draft.deleteClassKey(key.id) }
      }
    }
    guard salvage.agrees(.collection), salvage.agrees(.classKey), let last = salvage.last(.collection) else { return }
    let found = Set(salvage.rows { store throws(VaultError) in try store.collections() }.found.map(\.id))
    for row in try draft.collections() where row.id <= last && !found.contains(row.id) {
      if theirs.collections.contains(row.id) { continue }
      guard try draft.places(in: row.id).isEmpty else { continue }
      try draft.deleteCollection(row.id)
      outcome.droppedCollections.append(row.id)
    }
  }

  private func mergeDevices() throws(VaultError) {
    let past = try draft.devices()
    for row in salvage.rows({ store throws(VaultError) in try store.devices() }).found {
      if !past.contains(where: { $0.id == row.id }) {
        try draft.insert(row)
      } else if order != .older {
        try draft.update(row)
      }
    }
  }

  private func mergeAliases() throws(VaultError) {
    let aliases = salvage.rows { store throws(VaultError) in try store.aliases() }
    let present = Set(try draft.collections().map(\.id))
    guard order != .older else { return }
    for row in aliases.found where present.contains(row.collection) { try draft.setAlias(row.token, row.collection) }
    guard aliases.isWhole, order == .notOlder, salvage.agrees(.collection) else { return }
    for row in try draft.aliases() where !aliases.found.contains(where: { $0.token == row.token }) {
      try draft.setAlias(row.token, nil)
    }
  }

  // MARK: - items

  private mutating func mergeItems() throws(VaultError) {
    let classes = Dictionary(try draft.classKeys().map { ($0.id, $0.collection) }) { first, _ in first }
    let last = try draft.nextID(.item) - 1
    var candidates = salvage.named.union(try draft.items(after: 0, limit: .max))
    // The numbers that no index names, between the newest item of the generation and the newest item that ever existed.
    if !salvage.hasAllItems, last < Store.numberLimit {
      let end = min(salvage.last(.item) ?? last + 1000, last + Self.guesses)
      if end > last { candidates.formUnion(last + 1...end) }
    }
    for id in candidates.sorted() {
      let ours = try draft.item(id)
      if let theirs = salvage.item(id), classes[theirs.classKey] == theirs.collection {
        try take(theirs, over: ours)
      } else if ours != nil {
        if order == .notOlder, salvage.agrees, !salvage.named.contains(id), id <= salvage.last(.item) ?? 0 {
          _ = try draft.deleteItem(id)
          outcome.dropped.append(id)
        } else {
          outcome.older.append(id)
        }
      } else if salvage.named.contains(id) {
        outcome.lost.append(id)
      }
    }
  }

  private mutating func take(_ row: ItemRow, over ours: ItemRow?) throws(VaultError) {
    guard let ours else {
      try draft.insert(row)
      outcome.taken.append(row.id)
      return
    }
    guard ours.checksum != row.checksum else { return }
    // If somebody put a page back to a former state, its rows are older than the generation.
    guard ours.uuid == row.uuid, ours.modified <= row.modified else {
      outcome.older.append(row.id)
      // Two items have one number only if an older copy of the database was used for a while.
      if ours.uuid != row.uuid { outcome.lost.append(row.id) }
      return
    }
    if ours.collection == row.collection {
      try draft.update(row)
      outcome.taken.append(row.id)
    }
  }
}

extension CollectionRow {
  fileprivate func withEpoch(_ epoch: UInt64) -> CollectionRow {
    var row = self
    row.epoch = epoch
    return row
  }
}
