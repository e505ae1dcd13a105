import Glibc
import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium

@testable import LatchkeyBackup
@testable import LatchkeyVault

/// A small vault with a generation and a backup of the vault. Each input changes their files so that they are valid for SQLite and
/// wrong for us: trees that lead anywhere, extreme numbers and sizes, other objects in the schema. Then the vault is asked for
/// everything, walks through its generations and restores the backup. It must not trap, walk without end, return a wrong secret, or
/// silently lack an item.
final class HostileVault {
  private let home: Home
  private let copy: Home
  private let original: [String: [UInt8]]
  private let generations: [String: [UInt8]]
  private var secrets: [Int64: String] = [:]
  private let backup: [[UInt8]]
  private let header: BackupHeader

  /// Items that only the generation still has.
  private static let deleted = Set<Int64>(1...8)
  private static let backupID = [UInt8](repeating: 9, count: 16)
  private static func key() throws -> Key { try Key(copying: [UInt8](repeating: 1, count: 32).span.bytes) }

  init() {
    do {
      home = try Home()
      let vault = try home.unlocked()
      let second = try vault.collections.create(label: "Second")
      for number in 0..<40 {
        let classes = AccessibilityClass.allCases
        let secret = "secret \(number)" + String(repeating: "x", count: number == 7 ? 9000 : number)
        let id = try vault.add(
          ["n": "\(number)", "app": "shared"], secret, classes[number % classes.count], label: "L\(number)",
          in: number % 3 == 0 ? second : 1)
        secrets[id] = secret
      }
      vault.settleWhole()
      vault.passHours(1)
      while vault.hasHistoryWork, vault.keepHistory() {}
      if vault.history.generations.isEmpty { fatalError("no generation") }
      for id in HostileVault.deleted { try vault.writer.deleteItem(id) }
      let export = try Export(vault, id: HostileVault.backupID)
      var writer = try BackupWriter(id: HostileVault.backupID, created: 1, .make(), key: try HostileVault.key())
      header = try BackupHeader(decoding: writer.header.bytes)
      var chunks: [[UInt8]] = []
      while !writer.isOver {
        if let chunk = writer.chunk() {
          chunks.append(chunk)
        } else if let record = try export.next() {
          writer.put(record)
        } else {
          writer.finish()
        }
      }
      backup = chunks
      vault.settleWhole()
      original = home.contents.filter { $0.key != History.folderName && !$0.key.hasSuffix("-wal") }
      generations = contentsOfFolder(home.generations)
      copy = try Home(copying: home)
    } catch { fatalError("no vault: \(error)") }
  }

  /// Changes the files and asks the vault for everything. The first byte selects the files, the second one their size, and each six
  /// bytes after them are one change.
  ///
  /// - Returns: the fault; nil if every answer was right or an error.
  func complaint(_ input: [UInt8]) -> String? {
    guard input.count >= 2 else { return nil }
    putBack()
    var paths: [String] = []
    if input[0] & 1 == 0 { paths.append(copy.folder + "/vault.db") }
    if input[0] & 3 != 0, let name = generations.keys.sorted().first { paths.append(copy.generations + "/" + name) }
    for path in paths {
      var file: TreeFile?
      for start in stride(from: 2, to: input.count - 5, by: 6) {
        let piece = Array(input[start..<start + 6])
        if piece[0] < HostileVault.statements {
          file?.write()
          file = nil
          execute(piece, at: path)
        } else {
          if file == nil { file = try? TreeFile(path) }
          if var changed = file {
            alter(&changed, piece, at: path)
            file = changed
          }
        }
      }
      file?.write()
      resize(path, input[1])
    }
    return ask()
  }

  /// The folder of the changed files.
  var place: String { copy.folder }

  /// The pages of the database: all pages, or the root pages of the given indexes.
  func pages(of indexes: [String]?) throws -> [Int] {
    let file = try TreeFile(home.folder + "/" + KeybagFile.database)
    return try indexes?.map { try file.root(of: $0) } ?? Array(1...file.pages)
  }

  private func putBack() {
    for name in copy.names where original[name] == nil && name != History.folderName {
      removeTree(copy.folder + "/" + name)
    }
    for (name, bytes) in original { copy.write(name, bytes) }
    removeTree(copy.generations)
    mkdir(copy.generations, 0o700)
    for (name, bytes) in generations { writeFile(copy.generations + "/" + name, bytes) }
  }

  /// Makes a file claim another size.
  private func resize(_ path: String, _ how: UInt8) {
    guard how != 0 else { return }
    var status = stat()
    stat(path, &status)
    let size = status.st_size
    let sizes = [
      size - 1, size + 1, size - 4096, size + 4096, size / 2, 4096, 4095, 100, size + 1 << 20, size + 1 << 24,
    ]
    truncate(path, max(0, sizes[Int(how) % sizes.count]))
  }

  // MARK: - statements

  /// A piece whose first byte is lower is a statement, and any other piece is a change of pages.
  static let statements: UInt8 = 96
  private static let tables = [
    "item", "collection", "class_key", "device", "vault", "alias", "token", "access_log", "sqlite_sequence",
  ]
  private static let edges: [Int64] = [
    .max, .max - 1, .max - 2, .min, -1, 0, 1, Store.numberLimit, Store.numberLimit - 1, Store.numberLimit + 1,
    Int64(Int32.max), Int64(UInt32.max), 1 << 53,
  ]

  private func execute(_ piece: [UInt8], at path: String) {
    let table = HostileVault.tables[Int(piece[1]) % HostileVault.tables.count]
    let other = HostileVault.tables[Int(piece[3]) % HostileVault.tables.count]
    let edge = HostileVault.edges[Int(piece[2]) % HostileVault.edges.count]
    let row = "(SELECT id FROM \(table) LIMIT 1 OFFSET \(piece[4]))"
    let sql =
      switch piece[0] % 16 {
      case 0, 1: "UPDATE sqlite_sequence SET seq = \(edge) WHERE name = '\(table)'"
      case 2: "INSERT INTO sqlite_sequence(name, seq) VALUES('\(other)', \(edge))"
      case 3, 4: "UPDATE OR IGNORE \(table) SET id = \(edge) WHERE id = \(row)"
      case 5: "UPDATE OR IGNORE item SET \(piece[3] & 1 == 0 ? "collection" : "class_key") = \(edge) WHERE id = \(row)"
      case 6: "PRAGMA user_version = \(Int32(truncatingIfNeeded: edge))"
      case 7: "PRAGMA application_id = \(Int32(truncatingIfNeeded: edge))"
      case 8: "ALTER TABLE \(table) RENAME TO former; CREATE VIEW \(table) AS SELECT * FROM former"
      case 9: "CREATE TABLE odd AS SELECT * FROM \(table); DROP TABLE \(table); ALTER TABLE odd RENAME TO \(table)"
      case 10:
        "CREATE TRIGGER odd\(piece[4]) AFTER \(piece[3] & 1 == 0 ? "INSERT" : "UPDATE") ON \(table) "
          + "BEGIN DELETE FROM \(other); END"
      case 11: "CREATE INDEX odd\(piece[4]) ON \(table)(abs(rowid)); DROP INDEX IF EXISTS item_collection"
      case 12: "ALTER TABLE \(table) ADD COLUMN odd\(piece[4]) INT AS (1 << 62)"
      case 13: "DROP TABLE \(table)"
      case 14: "UPDATE \(table) SET rowid = -rowid"
      default: "INSERT INTO \(table) SELECT * FROM \(other)"
      }
    guard let database = try? Database(path: path, mode: .existing) else { return }
    try? database.execute("PRAGMA foreign_keys = OFF")
    try? database.execute(sql)
    database.trust()
    try? database.checkpoint()
    try? database.execute("PRAGMA journal_mode = DELETE")
  }

  // MARK: - pages

  private func alter(_ file: inout TreeFile, _ piece: [UInt8], at path: String) {
    let page = 1 + Int(piece[1]) % file.pages
    let cells = max(1, file.cells(page))
    let cell = Int(piece[2]) % cells
    let other = 1 + Int(piece[3]) % (file.pages + 2)
    switch piece[0] % 12 {
    case 0: file.reverse(page)
    case 1: file.repeatCell(cell, in: Int(piece[3]) % cells, of: page)
    case 2: file.lead(page, cell: nil, to: other)
    case 3: file.lead(page, cell: cell, to: other)
    case 4: file.setCells(Int(piece[3]) | Int(piece[4] & 7) << 8, of: page)
    case 5: file.setKind([2, 5, 10, 13, 0][Int(piece[3]) % 5], of: page)
    case 6:
      file.write([UInt8](repeating: 0xFF, count: 1 + Int(piece[4]) % 9), at: Int(piece[3]) % 16, ofCell: cell, of: page)
    case 7: file.write([piece[4]], at: Int(piece[3]), ofCell: cell, of: page)
    case 8: file.exchange(page, 1 + Int(piece[3]) % file.pages)
    case 9:
      let table = HostileVault.tables[Int(piece[1]) % HostileVault.tables.count]
      if file.pages < 200, let root = try? file.root(of: table), root <= file.pages { file.multiply(root) }
    case 10:
      let values = [0, 1, file.pages, file.pages + 1, Int(Int32.max), Int(UInt32.max), Int(piece[4])]
      file.setHead(values[Int(piece[3]) % values.count], at: 16 + 4 * (Int(piece[2]) % 20))
    default:
      var numbers = Numbers(state: UInt64(piece[2]) << 8 | UInt64(piece[3]))
      file.mislead(by: &numbers)
    }
  }

  // MARK: - questions

  private func ask() -> String? {
    let vault = copy.vault()
    for _ in 0..<2 {
      try? copy.unlock(vault)
      vault.verifyToEnd()
      if let complaint = complaint(vault) { return complaint }
    }
    if let walk = vault.endlessWalk() { return "\(walk) has no end" }
    try? restore(into: vault)
    if let complaint = complaint(vault) { return "after a restore: \(complaint)" }
    _ = try? vault.add(["n": "new"], "new")
    _ = try? vault.collections.create(label: "third")
    for id in secrets.keys.sorted().prefix(3) { try? vault.writer.deleteItem(id) }
    for collection in vault.collections.ids.prefix(3) { try? vault.collections.delete(collection) }
    vault.seal()
    return nil
  }

  private func complaint(_ vault: Vault) -> String? {
    for (id, secret) in secrets {
      if let found = try? vault.secretText(id), found != secret { return "\(id): wrong secret" }
    }
    let found = (try? vault.ids(["app": "shared"])) ?? []
    for collection in vault.collections.ids {
      _ = try? vault.reader.items(in: collection)
      _ = try? vault.collections.info(of: collection)
    }
    _ = try? vault.collections.alias("default")
    guard vault.problems.isEmpty, vault.healing.done == nil else { return nil }
    let missing = Set(secrets.keys).subtracting(HostileVault.deleted).subtracting(found)
    return missing.isEmpty ? nil : "\(missing.sorted()): missing, and no problem is told"
  }

  private func restore(into vault: Vault) throws {
    var reader = try BackupReader(header, key: try HostileVault.key())
    let restore = try Restore(vault, id: HostileVault.backupID, takingTheirs: true, isDry: false)
    for chunk in backup {
      try reader.take(chunk.span.bytes.extracting(droppingFirst: 4))
      while let record = try reader.next() { try restore.take(record) }
    }
    _ = try restore.finish()
  }
}
