import LatchkeySQLite

/// A walk through the whole database that looks at every check sum and every index entry.
///
/// A damaged index entry makes an item impossible to find, and after an empty answer programs make a new secret and overwrite
/// the old one. So after a start the walk runs in small steps beside the work, and an empty answer waits for its end.
struct Verification {
  private let store: Store
  private var position: Int64 = 0
  private var structureChecked = false
  /// Whether the walk has reached its end.
  private(set) var isFinished = false

  /// The number of bytes after which a step ends.
  private static let stepSize = 1 << 20

  /// - Parameter structure: whether SQLite's own check of the whole file comes first. That is one step, however large the file
  ///   is.
  init(_ store: Store, structure: Bool = true) {
    self.store = store
    structureChecked = !structure
  }

  /// One step: the structure first, then a few items.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` with the first fault.
  mutating func step(items limit: Int = 32) throws(VaultError) {
    if !structureChecked {
      structureChecked = true
      if let damage = try structuralDamage() { throw .damaged(.of(.database, .verbatim(damage))) }
      _ = try store.aliases()
      for table in NumberedTable.allCases { _ = try store.nextID(table) }
      guard try indexesHaveNothingElse() else { throw .damaged(.of(.database, .vault(.indexDamaged))) }
      return
    }
    var size = 0
    let batch = try store.items(after: position, limit: limit)
    for id in batch {
      guard let row = try store.item(id) else { throw .damaged(.of(.database, .itemDamaged(id))) }
      try store.checkTokens(of: row)
      guard try isIndexed(row) else { throw .damaged(.of(.database, .itemIndexDamaged(id))) }
      position = id
      size += row.secret.count + row.metadata.count
      // Large secrets take time, and other work must not wait for a batch of them.
      if size > Verification.stepSize { return }
    }
    if batch.isEmpty { isFinished = true }
  }

  // MARK: - questions to SQLite

  /// Whether every index of the table leads to this item and tells its number right, and its class key is there.
  private func isIndexed(_ row: ItemRow) throws(VaultError) -> Bool {
    let found = [
      try store.numbers("SELECT ? FROM class_key WHERE id = ? AND collection = ?") { s throws(SQLiteError) in
        try s.bind(1, row.id).bind(2, row.classKey).bind(3, row.collection)
      },
      try store.numbers(
        "SELECT id FROM item INDEXED BY item_collection WHERE collection = ? AND id = ?"
      ) { s throws(SQLiteError) in try s.bind(1, row.collection).bind(2, row.id) },
      try store.numbers(
        "SELECT id FROM item INDEXED BY item_class_key WHERE class_key = ? AND id = ?"
      ) { s throws(SQLiteError) in try s.bind(1, row.classKey).bind(2, row.id) },
      row.form == .wrapped
        ? [row.id]
        : try store.numbers(
          "SELECT id FROM item INDEXED BY item_form WHERE form = ? AND form <> 0 AND id = ?"
        ) { s throws(SQLiteError) in try s.bind(1, Int64(row.form.rawValue)).bind(2, row.id) },
    ]
    return found.allSatisfy { $0 == [row.id] }
  }

  /// Whether no index leads to more than the table has.
  private func indexesHaveNothingElse() throws(VaultError) -> Bool {
    let counts = try store.numbers(
      """
      SELECT count(*) FROM item NOT INDEXED UNION ALL SELECT count(*) FROM item INDEXED BY item_collection
      UNION ALL SELECT count(*) FROM item INDEXED BY item_class_key
      """
    ) { _ throws(SQLiteError) in }
    return Set(counts).count == 1
  }

  /// SQLite's own look at the structure of the file; nil when it finds nothing wrong.
  private func structuralDamage() throws(VaultError) -> String? {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try store.database.statement("PRAGMA quick_check(1)")
      defer { statement.reset() }
      guard try statement.step() else { return "no answer" }
      let answer = statement.text(0)
      return answer == "ok" ? nil : answer
    }
  }
}
