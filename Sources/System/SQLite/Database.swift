import CLatchkeySQLite
import Glibc

/// One connection to a database file, for one thread.
///
/// Guarantees: a committed transaction is on the disk (write-ahead mode with `synchronous=FULL`); no second process opens the
/// file meanwhile (exclusive mode); deleted content is overwritten with zeros.
public final class Database {
  let handle: OpaquePointer
  /// The work of the present statement so far, in ``workPiece``s of SQLite's virtual machine.
  private(set) var work: Int64 = 0
  /// The limit for all statements together, of this connection and of others with the same budget; nil without a limit.
  public var budget: WorkBudget?
  /// Prepared statements by the address of their text: a literal does not move.
  private var statements: [UnsafePointer<UInt8>: Statement] = [:]

  /// How a database is opened.
  public enum Mode: Sendable {
    /// The file must exist.
    case existing
    /// A missing file is made.
    case creating
    /// The database is only in memory, and ends with the connection.
    case memory
    /// The file must exist, and no program changes it. So this connection makes no log beside the file.
    case unchanging
  }

  /// Opens the database at `path`.
  ///
  /// - Throws: ``SQLiteError``, of kind `busy` if another process has it open, `damaged` if it is not a database.
  public init(path: String, mode: Mode) throws(SQLiteError) {
    var opened: OpaquePointer?
    let flags =
      switch mode {
      case .existing: SQLITE_OPEN_READWRITE
      case .creating: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .memory: SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY
      case .unchanging: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      }
    let path = mode == .memory ? path : Database.resolved(path)
    let status = sqlite3_open_v2(
      mode == .unchanging ? Database.unchanging(path) : path, &opened,
      flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, nil)
    guard status == SQLITE_OK, let opened else {
      let error = SQLiteError(
        code: status, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    _ = sqlite_defensive(handle)
    _ = sqlite_distrust_schema(handle)
    // Our programs make no triggers, but a file can have some.
    _ = sqlite_run_no_triggers(handle)
    _ = sqlite_ask_no_views(handle)
    leaveAlone()
    let look: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { database in
      guard let database else { return 0 }
      return Unmanaged<Database>.fromOpaque(database).takeUnretainedValue().isEndless ? 1 : 0
    }
    sqlite3_progress_handler(handle, Int32(Database.workPiece), look, Unmanaged.passUnretained(self).toOpaque())
    try execute("PRAGMA locking_mode = EXCLUSIVE")
    try execute("PRAGMA secure_delete = ON")
    try execute("PRAGMA foreign_keys = ON")
    try execute("PRAGMA cell_size_check = ON")
    if mode != .memory && mode != .unchanging {
      let journal = try statement("PRAGMA journal_mode = WAL")
      defer { journal.reset() }
      guard try journal.step(), journal.text(0) == "wal" else {
        throw SQLiteError(code: SQLITE_CANTOPEN, message: "the file system has no write-ahead log")
      }
      journal.reset()
      try execute("PRAGMA synchronous = FULL")
      try execute("PRAGMA journal_size_limit = 0")
    }
  }

  static let workPiece: Int64 = 4096

  /// The most operations of a statement in a file of this size. The largest statements of Latchkey take 0.2 for each byte of a
  /// whole file.
  ///
  /// The size bounds the pages only in an honest file: a sparse file claims any size with few pages. So there is a ceiling of some
  /// ten seconds of work, which a whole database of 2.5 GB does not reach. Blocks on the disk are not a measure, because some file
  /// systems count new data late.
  static func workLimit(ofSize bytes: Int64) -> Int64 {
    let (base, ceiling): (Int64, Int64) = (1 << 24, 1 << 29)
    return base + min(max(bytes, 0), ceiling - base)
  }

  /// Whether the present statement takes more than a database of this size can need. In a tree whose pages repeat a page many
  /// times, a statement would never reach the last row. So SQLite is told to interrupt it.
  private var isEndless: Bool {
    work += 1
    if let budget, !budget.take(Database.workPiece) { return true }
    let done = work * Database.workPiece
    guard done > Database.workLimit(ofSize: 0) else { return false }
    // An unknown size sets no bound.
    return done > Database.workLimit(ofSize: fileSize ?? .max)
  }

  deinit {
    sqlite3_progress_handler(handle, 0, nil, nil)
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  /// Whether the file was moved or removed since it was opened. Later writes would then be lost with the last descriptor.
  public var hasMoved: Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
  }

  /// The size of the file in bytes, without the log; nil if the size is unknown, for example on a share that does not answer.
  public var fileSize: Int64? {
    var size: sqlite3_int64 = 0
    return sqlite_file_size(handle, &size) == SQLITE_OK ? size : nil
  }

  /// The same file by the real path of its folder. With SQLITE_OPEN_NOFOLLOW, SQLite refuses a link anywhere in a path, but people
  /// move their home or data folders and leave links. The file itself must not be a link.
  static func resolved(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), let real = realpath(String(path[...slash]), nil) else { return path }
    defer { free(real) }
    return String(cString: real) + path[slash...]
  }

  /// The URI that tells SQLite that nobody changes the file at `path` (https://sqlite.org/uri.html).
  private static func unchanging(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF".unicodeScalars)
    var text = "file:"
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        text += "%"
        text.unicodeScalars.append(digits[Int(byte >> 4)])
        text.unicodeScalars.append(digits[Int(byte & 15)])
      }
    }
    return text + "?immutable=1"
  }

  var error: SQLiteError {
    SQLiteError(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
  }

  /// Runs statements that take no values and give no rows.
  public func execute(_ sql: String) throws(SQLiteError) {
    work = 0
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error }
  }

  /// The prepared statement of `sql`, made once. Values are bound, never written into the text.
  public func statement(_ sql: StaticString) throws(SQLiteError) -> Statement {
    work = 0
    if let ready = statements[sql.utf8Start], !ready.isBusy { return ready }
    var prepared: OpaquePointer?
    let status = sql.utf8Start.withMemoryRebound(to: CChar.self, capacity: sql.utf8CodeUnitCount + 1) {
      sqlite3_prepare_v3(handle, $0, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    }
    guard status == SQLITE_OK, let prepared else { throw error }
    let statement = Statement(prepared, of: self)
    statements[sql.utf8Start] = statement
    return statement
  }

  /// Runs `body` in a transaction: when this returns, the whole change is on the disk, or no part of it.
  public func transaction<Result, Failure: Error>(
    mapping: (SQLiteError) -> Failure, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    do { try statement("BEGIN IMMEDIATE").run() } catch { throw mapping(error) }
    let result: Result
    do { result = try body() } catch {
      try? execute("ROLLBACK")
      throw error
    }
    do { try statement("COMMIT").run() } catch {
      try? execute("ROLLBACK")
      throw mapping(error)
    }
    return result
  }

  /// Moves the write-ahead log into the database and empties it, so that no deleted row stays in the log.
  public func checkpoint() throws(SQLiteError) {
    guard sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK else {
      throw error
    }
  }

  /// The number of a pragma such as `user_version`.
  public func pragma(_ sql: StaticString) throws(SQLiteError) -> Int64 {
    let statement = try statement(sql)
    defer { statement.reset() }
    guard try statement.step() else { return 0 }
    return statement.integer(0)
  }
}

extension Database {
  /// From now on the end of the connection leaves the file and its log unchanged. This holds from the opening until ``trust()``,
  /// and again after damage was found.
  public func leaveAlone() {
    _ = sqlite_keep_log(handle, 1)
  }

  /// From now on the end of the connection moves the log into the database, because the database was verified as whole.
  public func trust() {
    _ = sqlite_keep_log(handle, 0)
  }
}
