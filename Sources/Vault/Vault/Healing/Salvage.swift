import Glibc
import LatchkeyPosix
import LatchkeySQLite

/// The readable part of a damaged database. It is read from a copy, so the file itself stays as it is.
struct Salvage {
  static let name = "vault.db.salvage"

  let store: Store
  /// The items that the table or an index of it names.
  let named: Set<Int64>
  /// Whether these are all that the file has.
  let hasAllItems: Bool
  /// Whether the table of items can be walked whole, and every index of it names the same items.
  let agrees: Bool
  /// Whether each change in the log can be read. A damaged or cut log shows an earlier moment.
  let hasWholeLog: Bool

  /// Looks at the database `name` in the folder, with its log.
  ///
  /// - Parameters:
  ///   - sound: a database with the same tables. If the first page is damaged, the generation's first page is used.
  ///   - budget: the limit for the statements of this reading. Beyond that, nothing more can be read.
  /// - Returns: nil if nothing of the file can be read.
  /// - Throws: if the copy cannot be made, which says nothing about the file.
  init?(
    of name: String, in folder: borrowing Folder, path: String, vault: [UInt8], sound: String, budget: WorkBudget
  ) throws(VaultError) {
    Self.remove(in: folder)
    var opened: (database: Database, copiedLog: Bool)?
    do throws(PosixError) {
      _ = try folder.copyReadable(path + "/" + name, to: Self.name)
      opened = try Self.open(name, in: folder, path: path)
      if opened == nil, Self.repairFirstPage(path + "/" + Self.name, by: sound) {
        opened = try Self.open(name, in: folder, path: path)
      }
    } catch { throw VaultError(error, .database) }
    guard let (database, copiedLog) = opened else { return nil }
    database.budget = budget
    hasWholeLog = copiedLog && Self.hasWholeLog(path + "/" + name + "-wal", database)
    store = Store(salvaging: database, vault: vault)
    let walks = Self.walks.map { Self.numbers(database, $0) }
    func isWhole(_ first: Int) -> Bool {
      walks[first].isWhole && walks[first].found.count == walks[first + 1].found.count
    }
    let sets = walks.map { Set($0.found) }
    let table = sets[0].union(sets[1])
    let named = sets.reduce(table) { $0.union($1) }
    // A damaged page can contain any number, but no item has a number below 1.
    self.named = named.filter { $0 > 0 }
    // A table or an index could have lost a part, and alone it would not show this. So the table's structure is checked, and the
    // indexes are compared with each other.
    let isSound = isWhole(0) && named == table && Self.isSound(database, "PRAGMA quick_check(item)")
    let indexesAgree = isWhole(2) && isWhole(4) && sets[2] == named && sets[4] == named
    hasAllItems = isSound || indexesAgree
    // A page that was put back to a former state is well-formed. So the change shows only if another page names a row that this
    // page lacks.
    agrees =
      isSound && indexesAgree
      && Self.otherIndexes.allSatisfy { sql in
        let walk = Self.numbers(database, sql)
        return walk.isWhole && walk.found.count == named.count && Set(walk.found) == named
      }
  }

  static func remove(in folder: borrowing Folder) {
    folder.removeDatabase(name)
  }

  private static let walks: [StaticString] = [
    "SELECT id FROM item NOT INDEXED ORDER BY id", "SELECT id FROM item NOT INDEXED ORDER BY id DESC",
    "SELECT id FROM item INDEXED BY item_collection ORDER BY collection, id",
    "SELECT id FROM item INDEXED BY item_collection ORDER BY collection DESC, id DESC",
    "SELECT id FROM item INDEXED BY item_class_key ORDER BY class_key, id",
    "SELECT id FROM item INDEXED BY item_class_key ORDER BY class_key DESC, id DESC",
  ]

  /// The indexes by uuid and by token; every item has at least one token.
  private static let otherIndexes: [StaticString] = [
    "SELECT id FROM item INDEXED BY sqlite_autoindex_item_1 ORDER BY uuid",
    "SELECT DISTINCT item FROM token INDEXED BY token_item ORDER BY item",
  ]

  private static func open(
    _ name: String, in folder: borrowing Folder, path: String
  ) throws(PosixError) -> (database: Database, copiedLog: Bool)? {
    // SQLite may remove the log of a database that does not open.
    folder.remove(Self.name + "-wal")
    var copiedLog = true
    if folder.contains(name + "-wal") {
      copiedLog = try folder.copyReadable(path + "/" + name + "-wal", to: Self.name + "-wal")
    }
    guard let database = try? Database(path: path + "/" + Self.name, mode: .existing), hasTables(database) else {
      return nil
    }
    return (database, copiedLog)
  }

  /// Whether SQLite reads all pages of the log that carry the numbers of the log's beginning (https://sqlite.org/fileformat.html,
  /// "The Write-Ahead Log"). Other pages are from before the log began again.
  ///
  /// - Parameter database: the database that the log was copied with.
  private static func hasWholeLog(_ path: String, _ database: Database) -> Bool {
    var information = stat()
    guard lstat(path, &information) == 0 else { return errno == ENOENT }
    guard information.st_size > 0 else { return true }
    guard let file = try? FileDescriptor.open(path, flags: O_RDONLY | O_NOFOLLOW) else { return false }
    var header = [UInt8](repeating: 0, count: 32)
    var frame = [UInt8](repeating: 0, count: 24 + pageSize)
    func fill(_ bytes: inout [UInt8]) -> Bool {
      let count = try? file.read(into: &bytes)
      return count == bytes.count
    }
    guard fill(&header) else { return false }
    var pages: Int64 = 0
    while fill(&frame) { if frame[8..<16] == header[16..<24] { pages += 1 } }
    guard let statement = try? database.statement("PRAGMA wal_checkpoint(PASSIVE)"),
      (try? statement.step()) == true
    else { return false }
    defer { statement.reset() }
    return statement.integer(0) == 0 && statement.integer(1) == pages
  }

  /// The first page says where the tables begin, which is the same from a vault's creation on.
  private static func repairFirstPage(_ path: String, by sound: String) -> Bool {
    guard let file = try? FileDescriptor.open(path, flags: O_RDWR | O_NOFOLLOW),
      let other = try? FileDescriptor.open(sound, flags: O_RDONLY | O_NOFOLLOW)
    else { return false }
    var page = [UInt8](repeating: 0, count: pageSize)
    let count = try? other.read(into: &page)
    guard count == pageSize else { return false }
    // Without a number of pages, SQLite counts the pages of the file, or of its log, which may have more. The other file's list
    // of free pages is not valid here.
    for position in 28..<40 { page[position] = 0 }
    return (try? file.writeAll(page.span.bytes)) != nil
  }

  private static let pageSize = 4096

  private static func hasTables(_ database: Database) -> Bool {
    (try? database.statement("SELECT id FROM item LIMIT 0").run()) != nil
      && (try? database.statement("SELECT id FROM collection LIMIT 0").run()) != nil
  }

  /// The numbers that a query returns before the first damage, without repetitions, and whether the query returned each number
  /// once.
  private static func numbers(_ database: Database, _ sql: StaticString) -> (found: [Int64], isWhole: Bool) {
    var found: [Int64] = []
    var isWhole = true
    var sequence = RowSequence(.numbers)
    do {
      let statement = try database.statement(sql)
      defer { statement.reset() }
      while try statement.step() {
        if sequence.place(of: statement) == .repeated {
          isWhole = false
          guard sequence.mayGoOn else { break }
        } else {
          found.append(statement.integer(0))
        }
      }
      return (found, isWhole)
    } catch { return (found, false) }
  }

  /// The numbers in the second column of a query before the first damage. The first column tells the rows apart.
  private static func references(
    _ database: Database, _ sql: StaticString, _ order: RowSequence.Order = .numbers
  ) -> Set<Int64> {
    var found: Set<Int64> = []
    var sequence = RowSequence(order)
    guard let statement = try? database.statement(sql) else { return [] }
    defer { statement.reset() }
    while (try? statement.step()) == true {
      if sequence.place(of: statement) == .repeated, !sequence.mayGoOn { break }
      found.insert(statement.integer(1))
    }
    return found
  }

  private static func isSound(_ database: Database, _ sql: StaticString) -> Bool {
    guard let statement = try? database.statement(sql), (try? statement.step()) == true else { return false }
    defer { statement.reset() }
    return statement.text(0) == "ok"
  }

  /// Whether all rows of a small table are there: by its structure, by a walk through it, and by its index of uuids.
  func agrees(_ table: NumberedTable) -> Bool {
    let queries: (check: StaticString, rows: StaticString, uuids: StaticString)
    switch table {
    case .collection:
      queries = (
        "PRAGMA quick_check(collection)", "SELECT id FROM collection NOT INDEXED ORDER BY id",
        "SELECT id FROM collection INDEXED BY sqlite_autoindex_collection_1 ORDER BY uuid"
      )
    case .classKey:
      queries = (
        "PRAGMA quick_check(class_key)", "SELECT id FROM class_key NOT INDEXED ORDER BY id",
        "SELECT id FROM class_key INDEXED BY sqlite_autoindex_class_key_1 ORDER BY uuid"
      )
    case .item: return agrees
    }
    let walk = Self.numbers(store.database, queries.rows)
    let uuids = Self.numbers(store.database, queries.uuids)
    return walk.isWhole && uuids.isWhole && walk.found == uuids.found.sorted()
      && Self.isSound(store.database, queries.check)
  }

  /// The collections and class keys that items refer to, as far as rows and indexes can be read.
  func references() -> (collections: Set<Int64>, classKeys: Set<Int64>) {
    let collections: [StaticString] = [
      "SELECT id, collection FROM item NOT INDEXED",
      "SELECT id, collection FROM item INDEXED BY item_collection ORDER BY collection",
      "SELECT id, collection FROM class_key NOT INDEXED",
    ]
    let classKeys: [StaticString] = [
      "SELECT id, class_key FROM item NOT INDEXED",
      "SELECT id, class_key FROM item INDEXED BY item_class_key ORDER BY class_key",
    ]
    func all(_ queries: [StaticString]) -> Set<Int64> {
      queries.reduce(into: []) { $0.formUnion(Self.references(store.database, $1)) }
    }
    let aliases = Self.references(store.database, "SELECT token, collection FROM alias", .bytes)
    return (all(collections).union(aliases), all(classKeys))
  }

  /// The rows of a small table that can be read, and whether all rows can be read.
  func rows<Row>(_ read: (Store) throws(VaultError) -> [Row]) -> (found: [Row], isWhole: Bool) {
    store.skipped = false
    let found = try? read(store)
    return (found ?? [], found != nil && !store.skipped)
  }

  /// The row of an item; nil if it is damaged or missing.
  func item(_ id: Int64) -> ItemRow? { try? store.item(id) }

  /// The highest number that a row of the table had; nil if that is damaged.
  func last(_ table: NumberedTable) -> Int64? { (try? store.nextID(table)).map { $0 - 1 } }
}
