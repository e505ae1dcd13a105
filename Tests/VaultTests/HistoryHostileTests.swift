import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import Testing

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

  /// Everything that walks along the generations. A walk that takes more steps than any of these files needs has no end.
  private func walk(_ vault: Vault) throws {
    func toEnd(_ what: String, _ step: () throws -> Bool) {
      for _ in 0..<400 { if (try? step()) != true { return } }
      Issue.record("\(what) has no end")
    }
    for one in vault.history.generations {
      if let comparison = try? HistoryComparison(vault, with: one.number) {
        toEnd("a comparison") { try comparison.step() }
      }
      let restore = try? HistoryRestore(vault, from: one.number, .everything, replacing: true, isDry: false)
      if let restore {
        toEnd("a restore") { try restore.step() }
        _ = try? restore.finish()
      }
    }
    if let search = try? HistorySearch(vault, .attributes(["n": "1"]), present: []) {
      toEnd("a search") { try search.step() }
    }
    let uuid = [UInt8](repeating: 9, count: 16)
    if let forgetting = try? vault.history.forgetEverywhere([uuid]) { toEnd("a removal") { try forgetting.step() } }
    _ = try? vault.history.entries()
    // What a newly started daemon looks at by itself.
    var protection = HistoryProtection(vault.history, try vault.database.ready())
    toEnd("a look at protections") { try protection.step() }
    vault.passHours(2)
    toEnd("the work beside requests") { vault.hasHistoryWork && vault.keepHistory() }
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
    #expect(throws: VaultError.self) { try store.uuids(after: 0, limit: 64) }
    try walk(vault)
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
    arguments: ["collection", "class_key", "item", "item_class_key", "alias"])
  func repeated(_ name: String) throws {
    let vault = try vault()
    let path = home.generations + "/" + (try #require(vault.history.generations.first)).name
    var file = try TreeFile(path)
    file.multiply(try file.root(of: name))
    file.write()
    try walk(vault)
  }
}

/// The same numbers in each run.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}

/// The pages of a database file (https://sqlite.org/fileformat.html).
private struct TreeFile {
  private static let size = 4096
  private let path: String
  private var bytes: [UInt8]

  init(_ path: String) throws {
    self.path = path
    bytes = try #require(readFile(path))
  }

  func write() { writeFile(path, bytes) }

  /// The first page of a table or an index.
  func root(of name: String) throws -> Int {
    let database = try Database(path: path, mode: .unchanging)
    // The autoindex of a table without rowid is that table.
    let statement = try database.statement("SELECT rootpage FROM sqlite_schema WHERE name = CAST(? AS TEXT)")
    defer { statement.reset() }
    try #require(try statement.bind(1, Array(name.utf8)).step())
    return Int(statement.integer(0))
  }

  private func start(_ page: Int) -> Int { (page - 1) * Self.size }
  private func number(_ place: Int, _ count: Int) -> Int {
    bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
  }
  private mutating func put(_ value: Int, _ count: Int, at place: Int) {
    for index in 0..<count { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - index))) }
  }

  /// The leaves of a table.
  func leaves(of page: Int) -> [Int] {
    let start = start(page)
    guard bytes[start] == 5 else { return [page] }
    let cells = (0..<number(start + 3, 2)).map { number(start + number(start + 12 + 2 * $0, 2), 4) }
    return (cells + [number(start + 8, 4)]).flatMap { leaves(of: $0) }
  }

  /// Has a leaf name its cells from the last one to the first one.
  mutating func reverse(_ page: Int) {
    let start = start(page)
    let count = number(start + 3, 2)
    let pointers = (0..<count).map { number(start + 8 + 2 * $0, 2) }
    for (index, pointer) in pointers.reversed().enumerated() { put(pointer, 2, at: start + 8 + 2 * index) }
  }

  /// Changes a pointer of some page: to a cell, to another page, to where free space begins, or how many cells it has.
  mutating func mislead(by numbers: inout Numbers) {
    let pages = bytes.count / Self.size
    let page = Int.random(in: 2...pages, using: &numbers)
    let start = start(page)
    let cells = number(start + 3, 2)
    let head = bytes[start] == 5 || bytes[start] == 2 ? 12 : 8
    switch Int.random(in: 0..<6, using: &numbers) {
    case 0 where cells > 1: reverse(page)
    case 1 where cells > 1:
      let (one, two) = (Int.random(in: 0..<cells, using: &numbers), Int.random(in: 0..<cells, using: &numbers))
      guard start + head + 2 * max(one, two) + 2 <= bytes.count else { return }
      put(number(start + head + 2 * one, 2), 2, at: start + head + 2 * two)
    case 2 where head == 12: put(Int.random(in: 1...pages, using: &numbers), 4, at: start + 8)
    case 3: put(Int.random(in: 0...600, using: &numbers), 2, at: start + 3)
    case 4: bytes[start] = [2, 5, 10, 13].randomElement(using: &numbers) ?? 13
    default:
      // A row's number or size, at its edges.
      let place = start + Int.random(in: head..<Self.size, using: &numbers)
      for index in place..<min(place + 9, start + Self.size) { bytes[index] = 0xff }
    }
  }

  /// Puts pages above a leaf, each of which leads many times to the one below it.
  mutating func multiply(_ root: Int) {
    let old = Array(bytes[start(root)..<start(root) + Self.size])
    // An index's tree has keys above its leaves as well; with the same ones as the leaf, its rows come again and again.
    let isTable = old[0] == 13
    guard isTable || old[0] == 10 else { return }
    let count = isTable ? 0 : (Int(old[3]) << 8 | Int(old[4]))
    guard isTable || count > 0 else { return }
    var below = bytes.count / Self.size + 1
    bytes += old
    for level in 0..<12 {
      let page = level == 11 ? root : bytes.count / Self.size + 1
      if page != root { bytes += [UInt8](repeating: 0, count: Self.size) }
      let start = start(page)
      for index in start..<start + Self.size { bytes[index] = 0 }
      bytes[start] = isTable ? 5 : 2
      var end = Self.size
      var cells = 0
      let key = isTable ? [1] : Array(old.cell)
      while end - (4 + key.count) > 12 + 2 * (cells + 1), cells < 200 {
        end -= 4 + key.count
        put(below, 4, at: start + end)
        for (index, byte) in key.enumerated() { bytes[start + end + 4 + index] = byte }
        put(end, 2, at: start + 12 + 2 * cells)
        cells += 1
      }
      put(cells, 2, at: start + 3)
      put(end, 2, at: start + 5)
      put(below, 4, at: start + 8)
      below = page
    }
    // How many pages the file has, in its head.
    put(bytes.count / Self.size, 4, at: 28)
  }
}

extension [UInt8] {
  /// The first cell of an index's leaf.
  fileprivate var cell: ArraySlice<UInt8> {
    let place = Int(self[8]) << 8 | Int(self[9])
    return self[place..<place + 1 + Int(self[place])]
  }
}
