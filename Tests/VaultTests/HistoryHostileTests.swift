import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import Testing

@testable import LatchkeySQLite
@testable import LatchkeyVault

private let hostileSizes: [Int] = [Int.max, Int.max - 4095, 1 << 62, 1 << 48]
private let hostileCounters: [Int64] = [
  Int64.max, Int64.max - 1, Int64.max - 2, Store.numberLimit, Store.numberLimit - 1, Store.numberLimit - 2,
]

/// What a program can write among the generations, or into the database, that is valid for SQLite. Nothing may trap, and every walk
/// comes to its end.
@Suite("Hostile generations and counters")
struct HistoryHostileTests {
  private let home: Home

  init() throws { home = try Home() }

  /// A vault with a generation of some items, of which two are gone.
  private func vault(items: Int = 8, in other: Home? = nil) throws -> Vault {
    let vault = try (other ?? home).unlocked()
    for number in 1...items { try vault.add(["n": "\(number)"], "secret \(number)", label: "\(number)") }
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    for id in [1, 2] as [Int64] { try vault.writer.deleteItem(id) }
    return vault
  }

  /// Everything that walks along the generations comes to its end.
  private func walk(_ vault: Vault) throws {
    _ = try vault.database.ready()
    #expect(vault.endlessWalk() == nil)
  }

  @Test("A generation of any size is neither a trap nor copied", arguments: hostileSizes)
  func size(_ size: Int) throws {
    let vault = try vault()
    let one = try #require(vault.history.generations.first)
    try #require(truncate(home.generations + "/" + one.name, size) == 0)
    #expect(try #require(vault.history.generations.first).size <= PastGeneration.sizeLimit)
    vault.history.tighten(try #require(try vault.database.ready().item(3)).uuid)
    try walk(vault)
  }

  @Test("A database of any size is no trap", arguments: hostileSizes)
  func databaseSize(_ size: Int) throws {
    let vault = try vault()
    try #require(truncate(home.folder + "/vault.db", size) == 0)
    try vault.add(["n": "more"], "more")
    try walk(vault)
  }

  @Test("A counter near the end of all numbers is no trap", arguments: hostileCounters)
  func counters(_ value: Int64) throws {
    for table in ["item", "collection", "class_key", "access_log"] {
      let home = try Home()
      let vault = try vault(in: home)
      let second = try vault.collections.create(label: "second")
      _ = try vault.add(["n": "second"], "second", in: second)
      vault.settle()
      vault.keepWholeHistory(hours: 3)
      let tape = try Tape(vault)
      let number = try #require(vault.history.generations.first).number
      try vault.collections.delete(second)
      try vault.writer.deleteItem(3)
      // In the database that is open, as a program can that writes the file before the daemon opens it.
      let database = try vault.database.ready().database
      try database.execute("UPDATE sqlite_sequence SET seq = \(value) WHERE name = '\(table)'")
      _ = try? vault.bringBack(from: number, replacing: true)
      _ = try? tape.restore(into: vault)
      _ = try? vault.add(["n": "new"], "new")
      _ = try? vault.collections.create(label: "third")
      vault.verifyToEnd()
      withExtendedLifetime(home) {}
    }
  }

  @Test("A generation whose rows come in the reverse order ends every walk")
  func reversed() throws {
    let vault = try vault()
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    var file = try TreeFile(path)
    for page in file.leaves(of: try file.root(of: "item")) { file.reverse(page) }
    file.write()
    let store = try vault.history.open(
      try #require(vault.history.generations.first), vault: try vault.database.ready().vault)
    #expect(throws: VaultError.self) { try store.items(after: 0, limit: 64) }
    #expect(throws: VaultError.self) { try ItemProtections(store).after(0, limit: 64) }
    #expect(throws: VaultError.self) { try store.sums(after: 0, limit: 64) }
    try walk(vault)
  }

  @Test("A row that the deletion does not find is no deleted one")
  func unfound() throws {
    let vault = try vault()
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    let deletion = try HistoryDeletion(of: [999], from: path, vault: try vault.database.ready().vault)
    #expect(throws: VaultError.self) { while try deletion.step() {} }
  }

  @Test("Generations whose pages lead anywhere are neither a trap nor endless", arguments: 1...24)
  func shuffled(_ seed: Int) throws {
    let vault = try vault(items: 30)
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    var file = try TreeFile(path)
    var numbers = Numbers(state: UInt64(seed))
    for _ in 0..<(1 + seed / 4) { file.mislead(by: &numbers) }
    file.write()
    try walk(vault)
  }

  @Test(
    "A generation whose tree has a page many times ends every statement",
    arguments: Cuts.each ? ["collection", "class_key", "item", "item_class_key", "alias"] : ["item"])
  func repeated(_ name: String) throws {
    let vault = try vault()
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    var file = try TreeFile(path)
    file.multiply(try file.root(of: name))
    file.write()
    try walk(vault)
  }

  @Test("A statement without an end is ended, whatever size a sparse file claims")
  func endless() throws {
    let path = home.folder + "/endless.db"
    let database = try Database(path: path, mode: .creating)
    let size = 1 << 20
    try #require(truncate(path, size) == 0)
    #expect(throws: SQLiteError.self) {
      try database.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
    }
    #expect(database.work * Database.workPiece <= Database.workLimit(ofSize: Int64(size)) + Database.workPiece)
    // A few seconds of work.
    for size in [1 << 28, 1 << 40, Int64.max] { #expect(Database.workLimit(ofSize: size) <= 1 << 29) }
  }
}
