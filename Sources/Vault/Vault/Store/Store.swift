import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import LatchkeySodium

/// The rows of `vault.db`: every read compares the check sums, and every write is in a transaction. It knows no key.
final class Store {
  let database: Database
  /// The size of the file, in bytes, when it was opened or when its log was last emptied.
  private var size: Int64 = 0
  /// The vault that the database belongs to: 16 bytes.
  let vault: [UInt8]

  /// Opens the database of the vault `vault`.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` for a file that is not a vault's database, or cut, or of a newer format;
  ///   ``VaultError/unavailable(_:)`` when it cannot be opened or belongs to another vault. The file is not changed.
  init(path: String, vault: [UInt8], mode: Database.Mode = .existing) throws(VaultError) {
    let database = try VaultError.store { () throws(SQLiteError) in try Database(path: path, mode: mode) }
    let format = try VaultError.store { () throws(SQLiteError) in
      (try database.pragma("PRAGMA application_id"), try database.pragma("PRAGMA user_version"))
    }
    // The header is read again, because the log may have a newer header.
    if format.0 == Schema.applicationID, format.1 > Schema.version { throw StoreFile.isNewer(format.1) }
    guard format == (Schema.applicationID, Schema.version) else {
      throw .damaged(.of(.database, .unknownFormat(format.1)))
    }
    let schema = try VaultError.store { () throws(SQLiteError) in try StoreFile.schema(of: database) }
    // An added trigger would run with every change, and a name with a flipped bit would fail later.
    guard schema == StoreFile.expectedSchema else { throw .damaged(.of(.database, .vault(.tablesDiffer))) }
    self.database = database
    self.vault = vault
    size = database.fileSize ?? 0
    let row = try vaultRow()
    guard row.vault == vault else { throw Store.foreign }
  }

  /// The database is another vault's.
  static let foreign = VaultError.unavailable(.of(.database, .vault(.otherKeybag)))

  /// Whether the database is whole, checked within a budget of work. A whole database needs no budget: its statements end.
  func isWhole(within budget: WorkBudget) -> Bool {
    database.budget = budget
    defer { database.budget = nil }
    return isWhole
  }

  /// Whether the structure and every row are right.
  var isWhole: Bool {
    var walk = Verification(self)
    do throws(VaultError) { while try walk.step() {} } catch { return false }
    return true
  }

  /// Makes a new database, and writes its first row. `path` nil: in memory only.
  init(creating path: String?, first row: VaultRow) throws(VaultError) {
    database = try VaultError.store { () throws(SQLiteError) in
      try Database(path: path ?? ":memory:", mode: path == nil ? .memory : .creating)
    }
    vault = row.vault
    try transaction { () throws(VaultError) in
      try VaultError.store { () throws(SQLiteError) in
        try database.execute(Schema.statements)
        try database.statement("INSERT INTO vault VALUES (1, ?, ?, ?, ?)")
          .bind(1, row.vault).bind(2, Int64(bitPattern: row.created)).bind(3, row.indexKey).bind(4, row.checksum).run()
      }
    }
  }

  /// Reads a database that may be damaged: it gives the readable rows of the small tables, and ``skipped`` says whether there are
  /// others.
  init(salvaging database: Database, vault: [UInt8]) {
    (self.database, self.vault, skipsDamage) = (database, vault, true)
  }

  /// Whether every entry of every index was looked at since the database was opened. Until then, a search by attributes also looks
  /// at the rows of the items that it finds.
  var isVerified = false

  private var skipsDamage = false
  /// Whether a read left out damaged rows. The caller sets this to false before the reads that it asks about.
  var skipped = false

  /// The letters in the texts of items, for searches.
  var texts = TextIndex()

  /// Whether there were writes since the write-ahead log was emptied.
  private(set) var hasLog = true
  /// The number of changes that were begun since the store was opened.
  private(set) var changes = 0

  /// Runs `body` in a transaction, in which `VaultError` undoes everything.
  func transaction<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    hasLog = true
    changes += 1
    return try database.transaction(mapping: VaultError.init, body)
  }

  /// Empties the write-ahead log, so that nothing that was deleted or replaced stays in it.
  func emptyLog() throws(VaultError) {
    guard hasLog else { return }
    try VaultError.store { () throws(SQLiteError) in try database.checkpoint() }
    hasLog = false
    size = database.fileSize ?? 0
  }

  /// Whether somebody cut the file off. SQLite does not notice: it reads some pages from memory and others as zeros, and its next
  /// checkpoint fills the hole. No commit makes the file smaller, as nothing runs VACUUM. A file of unknown size counts as not cut.
  var isCut: Bool { database.fileSize.map { $0 < size } ?? false }

  private func checked<Row: CheckedRow>(_ row: Row, _ stored: [UInt8], _ name: String) throws(VaultError) -> Row {
    guard row.checksum == stored else { throw .damaged(.of(.database, .rowDamaged(table: name))) }
    return row
  }

  /// All rows of a query.
  private func rows<Row>(
    _ order: RowSequence.Order, _ sql: StaticString,
    _ bind: (Statement) throws(SQLiteError) -> Void = { _ throws(SQLiteError) in },
    _ read: (Statement) throws(VaultError) -> Row
  ) throws(VaultError) -> [Row] {
    let statement = try VaultError.store { () throws(SQLiteError) in
      let statement = try database.statement(sql)
      try bind(statement)
      return statement
    }
    defer { statement.reset() }
    var result: [Row] = []
    var sequence = RowSequence(order)
    do throws(VaultError) {
      while try VaultError.store({ () throws(SQLiteError) in try statement.step() }) {
        switch sequence.place(of: statement) {
        case .next: break
        case .earlier where skipsDamage: skipped = true
        case .repeated where skipsDamage && sequence.mayGoOn:
          skipped = true
          continue
        default: throw .damaged(.of(.database, .vault(.indexDamaged)))
        }
        do throws(VaultError) { result.append(try read(statement)) } catch {
          guard skipsDamage else { throw error }
          skipped = true
        }
      }
    } catch {
      guard skipsDamage else { throw error }
      skipped = true
    }
    return result
  }

  /// A number that is stored unsigned; a negative one is damage that the check sum then finds.
  private static func unsigned(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) }

  // MARK: - vault and device

  func vaultRow() throws(VaultError) -> VaultRow {
    let found = try rows(.single, "SELECT vault, created, index_key, checksum FROM vault") { s throws(VaultError) in
      try checked(
        VaultRow(vault: s.blob(0), created: Store.unsigned(s.integer(1)), indexKey: s.blob(2)), s.blob(3), "vault")
    }
    guard let row = found.first else { throw .damaged(.of(.database, .vault(.noVaultRow))) }
    return row
  }

  func devices() throws(VaultError) -> [DeviceRow] {
    try rows(.numbers, "SELECT id, identity, share, erasable, index_key, checksum FROM device ORDER BY id") {
      s throws(VaultError) in
      try checked(
        DeviceRow(id: s.integer(0), identity: s.blob(1), share: s.blob(2), erasable: s.blob(3), indexKey: s.blob(4)),
        s.blob(5), "device")
    }
  }

  func insert(_ row: DeviceRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("INSERT INTO device VALUES (?, ?, ?, ?, ?, ?)")
        .bind(1, row.id).bind(2, row.identity).bind(3, row.share).bind(4, row.erasable).bind(5, row.indexKey)
        .bind(6, row.checksum).run()
    }
  }

  /// Writes a device's wrapped shares and index key, and its identity.
  func update(_ row: DeviceRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement(
        "UPDATE device SET identity = ?, share = ?, erasable = ?, index_key = ?, checksum = ? WHERE id = ?"
      ).bind(1, row.identity).bind(2, row.share).bind(3, row.erasable).bind(4, row.indexKey).bind(5, row.checksum)
        .bind(6, row.id).run()
    }
  }

  /// Writes the wrapped index key.
  func update(_ row: VaultRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("UPDATE vault SET index_key = ?, checksum = ?")
        .bind(1, row.indexKey).bind(2, row.checksum).run()
    }
  }

  // MARK: - collections

  /// The most collections that a vault ever had; more is damage. Bounds the walk along the chain of their keys.
  static let collectionLimit: UInt64 = 1 << 16

  func collections() throws(VaultError) -> [CollectionRow] {
    let found = try rows(
      .numbers,
      """
      SELECT id, uuid, ordinal, epoch, label, locked, passphrase, default_class, created, modified, checksum
      FROM collection ORDER BY id
      """
    ) { s throws(VaultError) in
      try checked(
        CollectionRow(
          id: s.integer(0), uuid: s.blob(1), ordinal: Store.unsigned(s.integer(2)), epoch: Store.unsigned(s.integer(3)),
          label: s.blob(4), locked: s.integer(5) == 1, passphrase: s.optionalBlob(6),
          defaultClass: AccessibilityClass(rawValue: UInt8(truncatingIfNeeded: s.integer(7))),
          created: Store.unsigned(s.integer(8)), modified: Store.unsigned(s.integer(9))), s.blob(10), "collection")
    }
    guard found.allSatisfy({ $0.ordinal < Store.collectionLimit }), Set(found.map(\.ordinal)).count == found.count
    else { throw .damaged(.of(.database, .rowDamaged(table: "collection"))) }
    return found.sorted { $0.ordinal < $1.ordinal }
  }

  func insert(_ row: CollectionRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try database.statement("INSERT INTO collection VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      try statement.bind(1, row.id).bind(2, row.uuid).bind(3, Int64(bitPattern: row.ordinal))
        .bind(4, Int64(bitPattern: row.epoch)).bind(5, row.label).bind(6, row.locked ? 1 : 0).bind(7, row.passphrase)
      if let accessibility = row.defaultClass { try statement.bind(8, Int64(accessibility.rawValue)) }
      try statement.bind(9, Int64(bitPattern: row.created)).bind(10, Int64(bitPattern: row.modified))
        .bind(11, row.checksum).run()
    }
  }

  /// Writes the columns of a collection that can change.
  func update(_ row: CollectionRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement(
        """
        UPDATE collection SET epoch = ?, label = ?, locked = ?, passphrase = ?, modified = ?, checksum = ? WHERE id = ?
        """
      ).bind(1, Int64(bitPattern: row.epoch)).bind(2, row.label).bind(3, row.locked ? 1 : 0).bind(4, row.passphrase)
        .bind(5, Int64(bitPattern: row.modified)).bind(6, row.checksum).bind(7, row.id).run()
    }
  }

  /// A number that no vault reaches. A count that begins below it still has as many numbers above it.
  static let numberLimit: Int64 = 1 << 62

  /// The number for the next new row of a table with AUTOINCREMENT: never one that was used before, so that an object
  /// path never comes back for another object.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` when the counter, which has no check sum, is behind the rows that are there, or so high
  ///   that the numbers could run out.
  func nextID(_ table: NumberedTable) throws(VaultError) -> Int64 {
    let found = try rows(.single, table.query) { s throws(VaultError) in
      (counter: s.integer(0), highest: s.integer(1))
    }
    guard let last = found.first, last.counter >= 0, last.counter >= last.highest, last.counter < Store.numberLimit
    else {
      throw .damaged(.of(.database, .vault(.counterDamaged)))
    }
    return last.counter + 1
  }

  /// Sets the next number of a table's rows to the one after `last`, unless it is higher already.
  func goOn(_ table: NumberedTable, after last: Int64) throws(VaultError) {
    guard try nextID(table) <= last else { return }
    try VaultError.store { () throws(SQLiteError) in
      let name = Array(table.name.utf8)
      try database.statement("DELETE FROM sqlite_sequence WHERE name = CAST(? AS TEXT)").bind(1, name).run()
      try database.statement("INSERT INTO sqlite_sequence (name, seq) VALUES (CAST(? AS TEXT), ?)")
        .bind(1, name).bind(2, last).run()
    }
  }

  /// Sets the first number of items to the one after `last`, in an empty store that replaces another store.
  func beginItems(after last: Int64) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("INSERT INTO sqlite_sequence (name, seq) VALUES ('item', ?)").bind(1, last).run()
    }
  }

  func deleteCollection(_ id: Int64) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      // Items are deleted first, because they refer to class keys, which are deleted with the collection.
      try database.statement("DELETE FROM item WHERE collection = ?").bind(1, id).run()
      try database.statement("DELETE FROM collection WHERE id = ?").bind(1, id).run()
    }
    texts.forget(collection: id)
  }

  /// Every alias.
  func aliases() throws(VaultError) -> [AliasRow] {
    try rows(.bytes, "SELECT token, collection, checksum FROM alias ORDER BY token") { s throws(VaultError) in
      try checked(AliasRow(token: s.blob(0), collection: s.integer(1)), s.blob(2), "alias")
    }
  }

  func alias(_ token: [UInt8]) throws(VaultError) -> Int64? {
    let found = try rows(
      .single, "SELECT token, collection, checksum FROM alias WHERE token = ?",
      { s throws(SQLiteError) in try s.bind(1, token) }
    ) { s throws(VaultError) in
      try checked(AliasRow(token: s.blob(0), collection: s.integer(1)), s.blob(2), "alias")
    }.first
    try require(found.map { $0.token == token } ?? true)
    return found?.collection
  }

  func setAlias(_ token: [UInt8], _ collection: Int64?) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      guard let collection else {
        return try database.statement("DELETE FROM alias WHERE token = ?").bind(1, token).run()
      }
      let row = AliasRow(token: token, collection: collection)
      try database.statement("INSERT OR REPLACE INTO alias VALUES (?, ?, ?)")
        .bind(1, token).bind(2, collection).bind(3, row.checksum).run()
    }
  }

  // MARK: - class keys

  /// The keys of every class in every collection, oldest first. Looks at all rows, because a row whose collection was altered
  /// would not be found by its collection.
  func classKeys() throws(VaultError) -> [ClassKeyRow] {
    try rows(
      .numbers,
      """
      SELECT id, uuid, collection, class, device, created, class_key, class_key_session, metadata_key,
        metadata_key_session, public_key, public_tag, private_key, checksum
      FROM class_key ORDER BY id
      """
    ) { s throws(VaultError) in
      guard let accessibility = AccessibilityClass(rawValue: UInt8(truncatingIfNeeded: s.integer(3))) else {
        throw .damaged(.of(.database, .rowDamaged(table: "class_key")))
      }
      return try checked(
        ClassKeyRow(
          id: s.integer(0), uuid: s.blob(1), collection: s.integer(2), accessibility: accessibility,
          device: s.isNull(4) ? nil : s.integer(4), created: Store.unsigned(s.integer(5)), classKey: s.blob(6),
          classKeySession: s.optionalBlob(7), metadataKey: s.blob(8), metadataKeySession: s.optionalBlob(9),
          publicKey: s.optionalBlob(10), publicTag: s.optionalBlob(11), privateKey: s.optionalBlob(12)), s.blob(13),
        "class_key")
    }
  }

  func insert(_ row: ClassKeyRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try database.statement(
        "INSERT INTO class_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      try statement.bind(1, row.id).bind(2, row.uuid).bind(3, row.collection)
        .bind(4, Int64(row.accessibility.rawValue)).bind(6, Int64(bitPattern: row.created)).bind(7, row.classKey)
        .bind(8, row.classKeySession).bind(9, row.metadataKey).bind(10, row.metadataKeySession)
        .bind(11, row.publicKey).bind(12, row.publicTag).bind(13, row.privateKey).bind(14, row.checksum)
      if let device = row.device { try statement.bind(5, device) }
      try statement.run()
    }
  }

  /// Writes the wrapped keys of a class.
  func update(_ row: ClassKeyRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement(
        """
        UPDATE class_key SET class_key = ?, class_key_session = ?, metadata_key = ?, metadata_key_session = ?,
          public_tag = ?, checksum = ? WHERE id = ?
        """
      ).bind(1, row.classKey).bind(2, row.classKeySession).bind(3, row.metadataKey).bind(4, row.metadataKeySession)
        .bind(5, row.publicTag).bind(6, row.checksum).bind(7, row.id).run()
    }
  }

  /// Deletes the keys of a class that no item needs.
  func deleteClassKey(_ id: Int64) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("DELETE FROM class_key WHERE id = ?").bind(1, id).run()
    }
  }
}
