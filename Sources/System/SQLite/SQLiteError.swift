import CLatchkeySQLite

/// A call of SQLite that failed.
public struct SQLiteError: Error, Equatable, Sendable {
  /// SQLite's extended result code (https://sqlite.org/rescode.html).
  public let code: Int32
  /// SQLite's own message. Statements get their values as parameters, so no value is ever in the message.
  public let message: String

  /// The kinds of errors. A caller treats all errors of a kind in the same way.
  public enum Kind: Sendable {
    /// Another process has the database open.
    case busy
    /// The disk, or the user's share of it, is full.
    case full
    /// The file is not a database, it was cut off, or its structure or its rows are damaged.
    case damaged
    /// The file cannot be opened, read or written.
    case inaccessible
    /// Anything else.
    case other
  }

  /// The kind of the error, which decides how a caller treats it.
  public var kind: Kind {
    switch code & 0xff {
    // SQLite reads an overflow page past its cache, and gives this code if the file ends before that page.
    case SQLITE_IOERR where code == Int32(sqlite_short_read): .damaged
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_FULL: .full
    // Our statements are only interrupted if they would not end (``Database``). Latchkey's own rows keep every constraint of the
    // schema. A broken one means that other rows were written into the file.
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_INTERRUPT, SQLITE_CONSTRAINT: .damaged
    case SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_READONLY, SQLITE_PERM: .inaccessible
    default: .other
    }
  }
}
