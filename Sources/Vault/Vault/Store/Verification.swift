import LatchkeySQLite

/// A walk through the whole database that looks at every check sum and every index entry.
///
/// A damaged index entry makes an item impossible to find, and after an empty answer programs make a new secret and overwrite
/// the old one. So after a start the walk runs in small steps beside the work, and an empty answer waits for its end.
struct Verification {
  private let store: Store
  private var position: Int64 = 0
  private var structureChecked = false

  /// The number of bytes after which a step ends.
  private static let stepSize = 1 << 20

  /// - Parameter structure: whether SQLite's own check of the whole file comes first. This check is one step, even for a large
  ///   file.
  init(_ store: Store, structure: Bool = true) {
    self.store = store
    structureChecked = !structure
  }

  /// One step: the structure first, then a few items.
  ///
  /// - Returns: whether there is more.
  /// - Throws: ``VaultError/damaged(_:)`` with the first fault.
  mutating func step(items limit: Int = 32) throws(VaultError) -> Bool {
    if !structureChecked {
      structureChecked = true
      if let damage = try structuralDamage() { throw .damaged(.of(.database, .verbatim(damage))) }
      for table in NumberedTable.allCases { _ = try store.nextID(table) }
      guard try smallIndexesAreRight(), try indexesHaveNothingElse() else {
        throw .damaged(.of(.database, .vault(.indexDamaged)))
      }
      return true
    }
    var size = 0
    let batch = try store.items(after: position, limit: limit)
    for id in batch {
      guard let row = try store.item(id) else { throw .damaged(.of(.database, .itemDamaged(id))) }
      try store.checkTokens(of: row)
      guard try isIndexed(row) else { throw .damaged(.of(.database, .itemIndexDamaged(id))) }
      position = id
      size += row.secret.count + row.metadata.count
      // Other work must not wait for a batch of large secrets, so the step ends here.
      if size > Verification.stepSize { return true }
    }
    guard batch.isEmpty else { return true }
    // The indexes are compared a second time: an item that changed during the walk may have left an entry that leads to another
    // item.
    guard try indexesHaveNothingElse() else { throw .damaged(.of(.database, .vault(.indexDamaged))) }
    return false
  }

  // MARK: - questions to SQLite

  /// Whether every index of the table leads to this item's number, and its class key exists.
  ///
  /// Each entry is compared with the row (``Store/require(_:)``). An index that leads to exactly these rows is in order, because
  /// each search compares the neighbouring entries.
  private func isIndexed(_ row: ItemRow) throws(VaultError) -> Bool {
    guard try store.item(uuid: row.uuid) == row.id else { return false }
    let key = try pair("SELECT id, collection FROM class_key WHERE id = ?", row.classKey)
    guard key == [row.classKey, row.collection] else { return false }
    let home = try pair(
      "SELECT id, collection FROM item INDEXED BY item_collection WHERE collection = ? AND id = ?", row.collection,
      row.id)
    let classKey = try pair(
      "SELECT id, class_key FROM item INDEXED BY item_class_key WHERE class_key = ? AND id = ?", row.classKey,
      row.id)
    guard home == [row.id, row.collection], classKey == [row.id, row.classKey] else { return false }
    guard row.form != .wrapped else { return true }
    let form = Int64(row.form.rawValue)
    return try pair(
      "SELECT id, form FROM item INDEXED BY item_form WHERE form = ? AND form <> 0 AND id = ?", form, row.id)
      == [row.id, form]
  }

  /// The two numbers of a query's only row; empty if there is another number of rows.
  private func pair(_ query: StaticString, _ first: Int64, _ second: Int64? = nil) throws(VaultError) -> [Int64] {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try store.database.statement(query)
      defer { statement.reset() }
      try statement.bind(1, first)
      if let second { try statement.bind(2, second) }
      guard try statement.step() else { return [] }
      let found = [statement.integer(0), statement.integer(1)]
      return try statement.step() ? [] : found
    }
  }

  /// Whether the indexes lead only to items of the table, and the index of attributes only to listed tokens.
  private func indexesHaveNothingElse() throws(VaultError) -> Bool {
    let rows = try counts(
      """
      SELECT count(*), coalesce(sum(form <> 0), 0), coalesce(sum(length(tokens)), 0) / 16
      FROM item NOT INDEXED WHERE id > ?1
      """, 3)
    // Each query has a condition, because without one SQLite would count the smallest index instead.
    let entries = try counts(
      """
      SELECT (SELECT count(*) FROM item INDEXED BY sqlite_autoindex_item_1 WHERE uuid >= x''),
        (SELECT count(*) FROM item INDEXED BY item_collection WHERE collection > ?1),
        (SELECT count(*) FROM item INDEXED BY item_class_key WHERE class_key > ?1),
        (SELECT count(*) FROM item INDEXED BY item_form WHERE form <> 0),
        (SELECT count(*) FROM token INDEXED BY sqlite_autoindex_token_1 WHERE token >= x''),
        (SELECT count(*) FROM token INDEXED BY token_item WHERE item > ?1)
      """, 6)
    return entries == [rows[0], rows[0], rows[0], rows[1], rows[2], rows[2]]
  }

  /// The only row of a query. The query's parameter is less than every number of a row.
  private func counts(_ query: StaticString, _ columns: Int32) throws(VaultError) -> [Int64] {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try store.database.statement(query)
      defer { statement.reset() }
      _ = try statement.bind(1, .min).step()
      return (0..<columns).map(statement.integer)
    }
  }

  /// Whether the indexes of the small tables lead to each of their rows, and to nothing else.
  private func smallIndexesAreRight() throws(VaultError) -> Bool {
    for alias in try store.aliases() where try store.alias(alias.token) != alias.collection { return false }
    let checks: [StaticString] = [
      "PRAGMA integrity_check(device)", "PRAGMA integrity_check(collection)", "PRAGMA integrity_check(class_key)",
    ]
    for check in checks where try answer(to: check) != "ok" { return false }
    return true
  }

  /// SQLite's own look at the structure of the file; nil when it finds nothing wrong.
  private func structuralDamage() throws(VaultError) -> String? {
    let answer = try answer(to: "PRAGMA quick_check(1)")
    return answer == "ok" ? nil : answer
  }

  private func answer(to check: StaticString) throws(VaultError) -> String {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try store.database.statement(check)
      defer { statement.reset() }
      return try statement.step() ? statement.text(0) : "no answer"
    }
  }
}
