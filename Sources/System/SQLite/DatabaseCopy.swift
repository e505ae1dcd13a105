import CLatchkeySQLite

/// A copy of a database that is made a few pages at a time, by SQLite's backup API.
///
/// The database may be changed meanwhile, but only by the copied connection. That connection's writes go to the copy as well, so
/// the copy equals the database when the last step returns. The copy's file is not synchronised.
public final class DatabaseCopy {
  private let source: Database
  private let target: OpaquePointer
  private var backup: OpaquePointer?

  /// Begins. Between two steps the source is not locked.
  ///
  /// - Parameter path: the copy's file, which must exist and be empty.
  public init(of source: Database, to path: String) throws(SQLiteError) {
    var opened: OpaquePointer?
    let status = sqlite3_open_v2(
      Database.resolved(path), &opened,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, nil)
    guard status == SQLITE_OK, let opened else {
      let error = SQLiteError(code: status, message: "the copy cannot be opened")
      sqlite3_close_v2(opened)
      throw error
    }
    self.source = source
    target = opened
    // The caller throws the copy away after any failure, and synchronises it at the end. The copy's cache is small.
    for pragma in ["journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = 64"] {
      guard sqlite3_exec(target, "PRAGMA " + pragma, nil, nil, nil) == SQLITE_OK else { throw error }
    }
    backup = sqlite3_backup_init(target, "main", source.handle, "main")
    guard backup != nil else { throw error }
  }

  deinit {
    sqlite3_backup_finish(backup)
    sqlite3_close_v2(target)
  }

  private var error: SQLiteError {
    SQLiteError(code: sqlite3_extended_errcode(target), message: String(cString: sqlite3_errmsg(target)))
  }

  /// Copies up to `pages` more.
  ///
  /// - Returns: whether there are more.
  /// - Throws: ``SQLiteError``. The copy is then of no use, and cannot continue.
  public func step(pages: Int32) throws(SQLiteError) -> Bool {
    switch sqlite3_backup_step(backup, pages) {
    case SQLITE_OK: return true
    case SQLITE_DONE:
      let status = sqlite3_backup_finish(backup)
      backup = nil
      guard status == SQLITE_OK else { throw SQLiteError(code: status, message: "the copy cannot be finished") }
      return false
    case let status: throw SQLiteError(code: status, message: String(cString: sqlite3_errstr(status)))
    }
  }
}
