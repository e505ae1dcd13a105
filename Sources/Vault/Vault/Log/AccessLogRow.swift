import LatchkeyAccessLog
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium

/// A row of table `access_log`. Its number is its place in the log, and never used again.
struct AccessLogRow: CheckedRow {
  let id: Int64
  let created: UInt64
  /// The entry, sealed by ``AccessLogSeal``.
  var entry: [UInt8]

  var content: [UInt8] {
    var out = ByteWriter(capacity: 20 + entry.count)
    out.number(UInt64(bitPattern: id))
    out.number(created)
    out.long(entry)
    return out.bytes
  }
}

/// Seals and opens the entries of the access log: bound to the vault, their place and their time. So none can be altered or
/// moved.
struct AccessLogSeal {
  let vault: [UInt8]
  let key: HeldKey

  /// An entry is padded to multiples of this many bytes.
  private static let padding = 64
  /// How many bytes stand before an event. Earlier programs wrote a hash of the preceding entry there. It is not read.
  static let reservedSize = 16

  private func associated(_ id: Int64, _ created: UInt64) -> [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.text("latchkey/1/access-log")
    out.put(vault)
    out.number(UInt64(bitPattern: id))
    out.number(created)
    return out.bytes
  }

  private static func plain(_ event: AccessEvent) -> [UInt8] {
    var out = ByteWriter(capacity: 128)
    out.put([UInt8](repeating: 0, count: reservedSize))
    event.encode(into: &out)
    let rest = out.bytes.count % padding
    if rest > 0 { out.put([UInt8](repeating: 0, count: padding - rest)) }
    return out.bytes
  }

  func seal(_ event: AccessEvent, id: Int64, created: UInt64) -> AccessLogRow {
    let sealed = AEAD.seal(
      AccessLogSeal.plain(event).span.bytes, key: key.key, associated: associated(id, created))
    return AccessLogRow(id: id, created: created, entry: sealed)
  }

  /// Opens a row; nil if this key does not open it, or its content is something else.
  func open(_ row: AccessLogRow) -> AccessEvent? {
    guard
      let plain = try? AEAD.open(row.entry.span.bytes, key: key.key, associated: associated(row.id, row.created))
    else { return nil }
    return AccessLogSeal.read(plain.bytes.withUnsafeBytes { Array($0) })
  }

  /// Reads the sealed bytes; nil for anything else.
  static func read(_ plain: [UInt8]) -> AccessEvent? {
    var input = ByteReader(plain)
    guard plain.count % padding == 0, (try? input.take(reservedSize)) != nil,
      let event = AccessEvent(decoding: &input), input.remaining < padding,
      let rest = try? input.take(input.remaining), rest.allSatisfy({ $0 == 0 })
    else { return nil }
    return event
  }
}

/// The table `access_log`. A damaged row is not an error but nil, because the rest of the vault does not depend on it.
extension Store {
  /// The log's bounds. The oldest entries are removed first.
  static let accessLogLimit = (entries: 1000, bytes: 256 << 10)

  private static func row(_ statement: Statement) -> (id: Int64, row: AccessLogRow?) {
    let row = AccessLogRow(
      id: statement.integer(0), created: UInt64(bitPattern: statement.integer(1)), entry: statement.blob(2))
    return (row.id, row.checksum == statement.blob(3) ? row : nil)
  }

  /// Up to `limit` rows with a number below `id`, newest first.
  func accessLog(below id: Int64, limit: Int) throws(VaultError) -> [(id: Int64, row: AccessLogRow?)] {
    let found = try all(
      .count(limit), "SELECT id, created, entry, checksum FROM access_log WHERE id < ? ORDER BY id DESC LIMIT ?"
    ) { s throws(SQLiteError) in
      try s.bind(1, id).bind(2, Int64(limit))
    } _: {
      Store.row($0)
    }
    // Otherwise a reader that asks for the entries below the last one would never reach the end.
    var last = id
    for row in found {
      guard row.id < last else { throw .damaged(.of(.database, .rowDamaged(table: "access_log"))) }
      last = row.id
    }
    return found
  }

  /// The highest number that a row of the log has, or ever had according to SQLite's counter.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` at ``accessLogEnd``, because no number is left.
  func lastAccessLogID() throws(VaultError) -> Int64 {
    let last = try VaultError.store { () throws(SQLiteError) -> Int64 in
      let statement = try database.statement(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'access_log'), (SELECT max(id) FROM access_log)")
      defer { statement.reset() }
      guard try statement.step() else { return 0 }
      return max(statement.integer(0), statement.integer(1), 0)
    }
    guard last < Store.accessLogEnd else { throw .unavailable(.of(.database, .vault(.logAtEnd))) }
    return last
  }

  func insert(_ row: AccessLogRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("INSERT INTO access_log VALUES (?, ?, ?, ?)")
        .bind(1, row.id).bind(2, Int64(bitPattern: row.created)).bind(3, row.entry).bind(4, row.checksum).run()
    }
  }

  /// Writes an entry that was sealed anew.
  func update(_ row: AccessLogRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("UPDATE access_log SET entry = ?, checksum = ? WHERE id = ?")
        .bind(1, row.entry).bind(2, row.checksum).bind(3, row.id).run()
    }
  }

  /// Removes the oldest entries, until the log is within its bounds.
  func trimAccessLog() throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try database.statement("SELECT id, length(entry) FROM access_log ORDER BY id DESC")
      defer { statement.reset() }
      var (entries, bytes) = (0, 0)
      var newestToGo: Int64?
      while newestToGo == nil, try statement.step() {
        entries += 1
        bytes += Int(statement.integer(1))
        guard entries > Store.accessLogLimit.entries || bytes > Store.accessLogLimit.bytes else { continue }
        newestToGo = statement.integer(0)
      }
      statement.reset()
      guard let newestToGo else { return }
      try database.statement("DELETE FROM access_log WHERE id <= ?").bind(1, newestToGo).run()
    }
  }

  /// Removes every entry.
  ///
  /// - Returns: how many there were.
  func clearAccessLog() throws(VaultError) -> Int64 {
    try VaultError.store { () throws(SQLiteError) in
      // With a condition, SQLite counts row by row. Without one it counts in one step, which no limit of work interrupts.
      let statement = try database.statement("SELECT count(*) FROM access_log WHERE id > ?")
      defer { statement.reset() }
      try statement.bind(1, Int64.min)
      let count = try statement.step() ? statement.integer(0) : 0
      statement.reset()
      try database.statement("DELETE FROM access_log").run()
      // A number that somebody set to the end of all numbers would leave none for later rows.
      try database.statement("DELETE FROM sqlite_sequence WHERE name = 'access_log' AND seq >= ?")
        .bind(1, Store.accessLogEnd).run()
      return count
    }
  }

  /// No log of ours ever reaches that number.
  static let accessLogEnd: Int64 = 1 << 62
}
