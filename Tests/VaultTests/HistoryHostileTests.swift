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

/// Files that a program can write among the generations or into the database, and that are valid for SQLite. No call may trap, and
/// every walk must end.
@Suite("Hostile generations and counters")
struct HistoryHostileTests {
  private let home: Home

  init() throws { home = try Home() }

  /// A vault with a generation of some items. Two of the items are deleted.
  private func vault(items: Int = 8, in other: Home? = nil) throws -> Vault {
    let vault = try (other ?? home).unlocked()
    for number in 1...items { try vault.add(["n": "\(number)"], "secret \(number)", label: "\(number)") }
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    for id in [1, 2] as [Int64] { try vault.writer.deleteItem(id) }
    return vault
  }

  /// Does everything that walks through the generations. Each walk must end.
  private func walk(_ vault: Vault) throws {
    _ = try vault.database.ready()
    #expect(vault.endlessWalk() == nil)
  }

  @Test("A generation that claims any size neither traps nor is copied", arguments: hostileSizes)
  func size(_ size: Int) throws {
    let vault = try vault()
    let one = try #require(vault.history.generations.first)
    try #require(truncate(home.generations + "/" + one.name, size) == 0)
    #expect(try #require(vault.history.generations.first).size <= PastGeneration.sizeLimit)
    vault.history.tighten(try #require(try vault.database.ready().item(3)).uuid)
    try walk(vault)
  }

  @Test("A database that claims any size does not trap", arguments: hostileSizes)
  func databaseSize(_ size: Int) throws {
    let vault = try vault()
    try #require(truncate(home.folder + "/vault.db", size) == 0)
    try vault.add(["n": "more"], "more")
    try walk(vault)
  }

  @Test("A counter near the highest number does not trap", arguments: hostileCounters)
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
      // The test writes into the open database. A program could write the same into the file before the daemon opens it.
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

  @Test("A walk ends even if a generation's rows come in the reverse order")
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

  @Test("A row that the deletion does not find does not count as deleted")
  func unfound() throws {
    let vault = try vault()
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    let deletion = try HistoryDeletion(of: [999], from: path, vault: try vault.database.ready().vault)
    #expect(throws: VaultError.self) { while try deletion.step() {} }
  }

  @Test("Generations whose pages lead anywhere neither trap nor run without end", arguments: 1...24)
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
    "Every statement ends on a generation whose tree repeats a page",
    arguments: Cuts.each ? ["collection", "class_key", "item", "item_class_key", "alias"] : ["item"])
  func repeated(_ name: String) throws {
    let vault = try vault()
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    var file = try TreeFile(path)
    file.multiply(try file.root(of: name))
    file.write()
    try walk(vault)
  }

  @Test("An endless statement is stopped, whatever size a sparse file claims")
  func endless() throws {
    let path = home.folder + "/endless.db"
    let database = try Database(path: path, mode: .creating)
    let size = 1 << 20
    try #require(truncate(path, size) == 0)
    #expect(throws: SQLiteError.self) {
      try database.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
    }
    #expect(database.work * Database.workPiece <= Database.workLimit(ofSize: Int64(size)) + Database.workPiece)
    // The limit stands for a few seconds of work.
    for size in [1 << 28, 1 << 40, Int64.max] { #expect(Database.workLimit(ofSize: size) <= 1 << 29) }
  }
}
