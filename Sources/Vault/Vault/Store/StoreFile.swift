import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite

/// The file of a vault's database: its header before anything is opened, and the tables that it must have.
enum StoreFile {
  /// A newer program made the file, which is not damage and needs no healing.
  static func isNewer(_ version: Int64) -> VaultError {
    .unavailable(.of(.database, .newerFormat(version)))
  }

  /// The result of ``schema(of:)`` for a vault's database; nil if there is no memory to ask SQLite.
  static let expectedSchema: [[String]]? = {
    guard let database = try? Database(path: ":memory:", mode: .memory),
      (try? database.execute(Schema.statements)) != nil
    else { return nil }
    return try? schema(of: database)
  }()

  /// Every table, index, trigger and view, as SQLite keeps it.
  static func schema(of database: Database) throws(SQLiteError) -> [[String]] {
    let statement = try database.statement("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    defer { statement.reset() }
    var found: [[String]] = []
    while try statement.step() { found.append((0..<4).map { statement.text($0) }) }
    return found
  }

  /// Checks the first bytes of a database file (https://sqlite.org/fileformat.html, "The Database Header") before SQLite does.
  /// SQLite would make an empty file into a database, and convert a foreign one to write-ahead mode.
  ///
  /// Reading the header ends this process's locks on the file. So it must not happen while the same process has the database open.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` for anything but a vault's database of a known format.
  static func checkHeader(_ header: [UInt8]) throws(VaultError) {
    var input = ByteReader(header)
    do {
      guard try input.take(16) == Array("SQLite format 3\0".utf8) else {
        throw VaultError.damaged(.of(.database, .vault(.notDatabase)))
      }
      _ = try input.take(2)
      let modes = try input.take(2)
      _ = try input.take(40)
      let version = try input.number(UInt32.self).byteSwapped
      _ = try input.take(4)
      let application = try input.number(UInt32.self).byteSwapped
      guard application == Schema.applicationID else {
        throw VaultError.damaged(.of(.database, .vault(.notVault)))
      }
      guard version <= Schema.version else {
        throw isNewer(Int64(version))
      }
      guard version == Schema.version, modes == [2, 2] else {
        throw VaultError.damaged(.of(.database, .vault(.headerDamaged)))
      }
    } catch let error as VaultError { throw error } catch {
      throw .damaged(.of(.database, .vault(.truncated)))
    }
  }

  /// The first bytes of a database file, with zeros for the bytes that a shorter file lacks.
  static func header(of name: String, in folder: borrowing Folder) throws(PosixError) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: 100)
    _ = try folder.read(name, into: &header)
    return header
  }

  /// Whether the file is a vault's database that a newer program made.
  static func isOfNewerProgram(_ folder: borrowing Folder) -> Bool {
    guard
      let file = try? FileDescriptor.open(
        KeybagFile.database, at: folder.number, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    else { return false }
    var header = [UInt8](repeating: 0, count: 72)
    let count = try? file.read(into: &header)
    guard count == 72, header.starts(with: Array("SQLite format 3\0".utf8)) else { return false }
    func number(_ position: Int) -> Int64 { header[position..<position + 4].reduce(0) { $0 << 8 | Int64($1) } }
    return number(68) == Schema.applicationID && number(60) > Schema.version
  }
}

extension Folder {
  /// Removes a database, and the files that SQLite makes beside it.
  borrowing func removeDatabase(_ name: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] { remove(name + suffix) }
  }
}
