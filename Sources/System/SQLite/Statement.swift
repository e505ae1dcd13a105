import CLatchkeySQLite

/// A prepared statement: bind values, step through rows, reset.
public final class Statement {
  private let handle: OpaquePointer
  private unowned let database: Database

  init(_ handle: OpaquePointer, of database: Database) {
    self.handle = handle
    self.database = database
  }

  deinit { sqlite3_finalize(handle) }

  /// Whether the statement's rows are being read.
  var isBusy: Bool { sqlite3_stmt_busy(handle) != 0 }

  /// Binds a number to parameter `index`, counted from 1.
  @discardableResult
  public func bind(_ index: Int32, _ value: Int64) throws(SQLiteError) -> Statement {
    guard sqlite3_bind_int64(handle, index, value) == SQLITE_OK else { throw database.error }
    return self
  }

  /// Binds bytes; nil is NULL.
  @discardableResult
  public func bind(_ index: Int32, _ value: [UInt8]?) throws(SQLiteError) -> Statement {
    guard let value else {
      guard sqlite3_bind_null(handle, index) == SQLITE_OK else { throw database.error }
      return self
    }
    let status =
      value.isEmpty
      ? sqlite3_bind_zeroblob(handle, index, 0) : sqlite_bind_blob_copy(handle, index, value, UInt64(value.count))
    guard status == SQLITE_OK else { throw database.error }
    return self
  }

  /// Goes to the next row.
  ///
  /// - Returns: false if no row is left.
  public func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let error = database.error
      reset()
      throw error
    }
  }

  /// Runs a statement that gives no rows, and makes the statement ready for the next use.
  public func run() throws(SQLiteError) {
    defer { reset() }
    while try step() {}
  }

  /// Ends the reading of rows and forgets the bound values.
  public func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  /// Whether column `index`, counted from 0, is NULL.
  public func isNull(_ index: Int32) -> Bool { sqlite3_column_type(handle, index) == SQLITE_NULL }

  /// The number in column `index`; 0 for anything else.
  public func integer(_ index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

  /// The bytes in column `index`; no bytes for NULL.
  public func blob(_ index: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, index) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, index))))
  }

  /// The bytes in column `index`; nil for NULL.
  public func optionalBlob(_ index: Int32) -> [UInt8]? { isNull(index) ? nil : blob(index) }

  /// The text in column `index`; empty for NULL.
  public func text(_ index: Int32) -> String {
    guard let start = sqlite3_column_text(handle, index) else { return "" }
    return String(cString: start)
  }
}
