import LatchkeySQLite

/// The table `access_log`. A damaged row is not an error but nil, because the rest of the vault does not depend on it.
struct AccessLogTable {
  let store: Store

  /// The log's bounds. The oldest entries are removed first.
  static let limit = (entries: 1000, bytes: 256 << 10)

  private static func row(_ statement: Statement) -> (id: Int64, row: AccessLogRow?) {
    let row = AccessLogRow(
      id: statement.integer(0), created: UInt64(bitPattern: statement.integer(1)), entry: statement.blob(2))
    return (row.id, row.checksum == statement.blob(3) ? row : nil)
  }

  /// Up to `limit` rows with a number below `id`, newest first.
  func rows(below id: Int64, limit: Int) throws(VaultError) -> [(id: Int64, row: AccessLogRow?)] {
    let found = try store.all(
      .count(limit), "SELECT id, created, entry, checksum FROM access_log WHERE id < ? ORDER BY id DESC LIMIT ?"
    ) { s throws(SQLiteError) in
      try s.bind(1, id).bind(2, Int64(limit))
    } _: {
      Self.row($0)
    }
    // With entries out of order, a reader of the entries below the last one could never reach the end.
    var last = id
    for row in found {
      guard row.id < last else { throw .damaged(.of(.database, .rowDamaged(table: "access_log"))) }
      last = row.id
    }
    return found
  }

  /// The highest number that a row of the log has, or ever had according to SQLite's counter.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` at ``end``, because no number is left.
  func lastID() throws(VaultError) -> Int64 {
    let last = try VaultError.store { () throws(SQLiteError) -> Int64 in
      let statement = try store.database.statement(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'access_log'), (SELECT max(id) FROM access_log)")
      defer { statement.reset() }
      guard try statement.step() else { return 0 }
      return max(statement.integer(0), statement.integer(1), 0)
    }
    guard last < Self.end else { throw .unavailable(.of(.database, .vault(.logAtEnd))) }
    return last
  }

  func insert(_ row: AccessLogRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try store.database.statement("INSERT INTO access_log VALUES (?, ?, ?, ?)")
        .bind(1, row.id).bind(2, Int64(bitPattern: row.created)).bind(3, row.entry).bind(4, row.checksum).run()
    }
  }

  /// Writes an entry that was sealed with another key.
  func update(_ row: AccessLogRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try store.database.statement("UPDATE access_log SET entry = ?, checksum = ? WHERE id = ?")
        .bind(1, row.entry).bind(2, row.checksum).bind(3, row.id).run()
    }
  }

  /// Removes the oldest entries, until the log is within its bounds.
  func trim() throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try store.database.statement("SELECT id, length(entry) FROM access_log ORDER BY id DESC")
      defer { statement.reset() }
      var (entries, bytes) = (0, 0)
      var newestToGo: Int64?
      while newestToGo == nil, try statement.step() {
        entries += 1
        bytes += Int(statement.integer(1))
        guard entries > Self.limit.entries || bytes > Self.limit.bytes else { continue }
        newestToGo = statement.integer(0)
      }
      statement.reset()
      guard let newestToGo else { return }
      try store.database.statement("DELETE FROM access_log WHERE id <= ?").bind(1, newestToGo).run()
    }
  }

  /// Removes every entry.
  ///
  /// - Returns: the number of removed entries.
  func clear() throws(VaultError) -> Int64 {
    try VaultError.store { () throws(SQLiteError) in
      // The condition makes SQLite count row by row. Without a condition it would count in one step, which no limit of work can
      // interrupt.
      let statement = try store.database.statement("SELECT count(*) FROM access_log WHERE id > ?")
      defer { statement.reset() }
      try statement.bind(1, Int64.min)
      let count = try statement.step() ? statement.integer(0) : 0
      statement.reset()
      try store.database.statement("DELETE FROM access_log").run()
      // If somebody has set the counter to the highest number, no number would be left for later rows.
      try store.database.statement("DELETE FROM sqlite_sequence WHERE name = 'access_log' AND seq >= ?")
        .bind(1, Self.end).run()
      return count
    }
  }

  /// No log of ours ever reaches that number.
  static let end: Int64 = 1 << 62
}
