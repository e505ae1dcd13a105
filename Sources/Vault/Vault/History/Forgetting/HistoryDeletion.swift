import LatchkeyPosix
import LatchkeySQLite

/// The deletion of some items from a copy of a generation, a moment at a time. At its end the file has everything in its place.
///
/// No step waits for the disk. The wait comes when the copy gets its name.
final class HistoryDeletion {
  private enum Stage {
    case deleting([Int64])
    /// Makes these indexes again, because an index lacks the entry of a row to delete.
    case indexing([String], items: [Int64])
  }

  /// The most items that a step deletes.
  static let batch = 64

  /// The copy's database; nil at the end, so that the copy has no log beside it when it gets its name.
  private var store: Store?
  private var stage: Stage
  private var areIndexesNew = false

  init(of items: [Int64], from path: String, vault: [UInt8]) throws(VaultError) {
    let store = try Store(path: path, vault: vault)
    try VaultError.store { () throws(SQLiteError) in try store.database.execute("PRAGMA synchronous = OFF") }
    self.store = store
    stage = .deleting(items)
  }

  /// Works for a few milliseconds. A step that makes an index again takes longer, because this cannot be divided.
  ///
  /// - Returns: whether there is more to do.
  func step() throws(VaultError) -> Bool {
    guard let store else { return false }
    switch stage {
    case .deleting(var items):
      do throws(VaultError) { try delete(&items, from: store) } catch {
        guard case .damaged = error, !areIndexesNew else { throw error }
        areIndexesNew = true
        stage = .indexing(try Self.indexNames(of: store), items: items)
        return true
      }
      stage = .deleting(items)
      // The log is emptied after each step. Otherwise it would grow as large as the whole generation.
      try store.emptyLog()
      if items.isEmpty {
        store.database.trust()
        (self.store, stage) = (nil, .deleting([]))
        return false
      }
    case .indexing(var names, let items):
      if let name = names.popLast() { try Self.makeAgain(index: name, of: store) }
      stage = names.isEmpty ? .deleting(items) : .indexing(names, items: items)
    }
    return true
  }

  private func delete(_ items: inout [Int64], from store: Store) throws(VaultError) {
    let end = Process.now + History.stepTime
    var left = items
    try store.transaction { () throws(VaultError) in
      for _ in 0..<Self.batch where Process.now < end {
        guard let id = left.popLast() else { return }
        // A walk found the row. A search that does not find it has met damage, and the row would stay.
        guard try store.deleteItem(id) else { throw .damaged(.of(.database, .rowDamaged(table: "item"))) }
      }
    }
    items = left
  }

  /// The names of all indexes.
  private static func indexNames(of store: Store) throws(VaultError) -> [String] {
    // The count is known, because the schema was compared with the known one.
    try store.all(.count(StoreFile.expectedSchema?.count ?? 0), "SELECT name FROM sqlite_schema WHERE type = 'index'") {
      $0.text(0)
    }
  }

  /// Makes an index again from the rows of its table.
  ///
  /// - Parameter name: an index of the schema, which was compared with the known one.
  private static func makeAgain(index name: String, of store: Store) throws(VaultError) {
    try store.transaction { () throws(VaultError) in
      try VaultError.store { () throws(SQLiteError) in try store.database.execute("REINDEX \"\(name)\"") }
    }
  }
}
