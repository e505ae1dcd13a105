import Glibc
import LatchkeyPosix
import LatchkeySQLite
import Testing

@testable import LatchkeyVault

@Suite("Odd files among the generations")
struct HistoryOddFilesTests {
  private let home: Home
  private let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
    try vault.add(["n": "1"], "first")
    vault.settleWhole()
    vault.keepWholeHistory()
  }

  @Test("Generations with the highest possible number do not prevent a new generation, and go then")
  func numbers() throws {
    let own = try #require(vault.history.generations.first)
    for number in [UInt32.max, UInt32.max - 1, 1 << 31] as [UInt32] {
      let planted = "\(number)-\(own.time)-\(own.epoch).db"
      writeFile(home.generations + "/" + planted, readFile(home.generations + "/" + own.name) ?? [])
      try vault.add(["n": "\(number)"], "more")
      let kept = vault.keepWholeHistory(hours: 2)
      #expect(vault.history.problem == nil)
      #expect(!kept.contains { $0.number >= 1 << 31 })
      #expect(try vault.past(try #require(kept.first))["\(number)"] == "more")
      #expect(!namesInFolder(home.generations).contains { $0.hasPrefix("\(number)") })
    }
  }

  @Test("that take longer than a step to overwrite are gone when a step says that there is no more")
  func large() throws {
    writeFile(home.generations + "/9-9-1.db.erased", [UInt8](repeating: 1, count: 64 << 20))
    let next = HistoryErasure.next(in: try vault.history.folder())
    let erasure = try #require(next)
    while erasure.step() {}
    #expect(!namesInFolder(home.generations).contains { $0.hasSuffix(".erased") })
  }

  @Test("Generations that are huge and empty are removed without a write for each of their blocks")
  func sparse() throws {
    let path = home.generations + "/9-9-1.db.erased"
    writeFile(path, Array("secret".utf8))
    #expect(truncate(path, 1 << 42) == 0)
    let folder = try vault.history.folder()
    let free = folder.freeSpace
    vault.keepWholeHistory()
    #expect(!namesInFolder(home.generations).contains { $0.hasSuffix(".erased") })
    #expect(folder.freeSpace > free - (64 << 20))
    // The file's real blocks are overwritten first.
    writeFile(path, Array("secret".utf8))
    let file = try FileDescriptor.open(path, flags: O_RDONLY)
    #expect(truncate(path, 1 << 42) == 0)
    vault.keepWholeHistory()
    var beginning = [UInt8](repeating: 1, count: 6)
    _ = try file.read(into: &beginning)
    #expect(beginning == [0, 0, 0, 0, 0, 0])
  }

  @Test("Generations with a damaged index of uuids still lose an item that must go from all generations")
  func damagedIndex() throws {
    let uuid = try #require(try vault.database.ready().item(1)).uuid
    let generation = try #require(vault.history.generations.first)
    let path = home.generations + "/" + generation.name
    // The index's root page, emptied.
    let page = try rootPage(path)
    var bytes = readFile(path) ?? []
    let start = (page - 1) * 4096
    for position in start..<start + 4096 { bytes[position] = 0 }
    bytes[start] = 10
    (bytes[start + 5], bytes[start + 6]) = (0x10, 0)
    writeFile(path, bytes)
    #expect(try vault.history.open(generation, vault: home.keybag.vault).item(uuid: uuid) == nil)
    try vault.writer.deleteItem(1)
    let forgetting = try vault.history.forgetEverywhere([uuid])
    while try forgetting.step() {}
    #expect(forgetting.changed + forgetting.unreadable.count == 1)
    #expect(forgetting.changed == 1)
    #expect(try vault.past(generation) == [:])
  }

  @Test("Generations that cannot be copied keep the item, and are named")
  func uncopied() throws {
    try vault.add(["n": "2"], "second")
    let kept = vault.keepWholeHistory(hours: 2)
    let (newest, oldest) = (try #require(kept.first), try #require(kept.last))
    #expect(kept.count == 2)
    let uuid = try #require(try vault.database.ready().item(1)).uuid
    let forgetting = try vault.history.forgetEverywhere([uuid])
    let draft = home.generations + "/" + HistoryForgetting.draftName
    while readFile(draft) == nil { #expect(try forgetting.step()) }
    do {
      let other = try Database(path: draft, mode: .existing)
      try other.execute("BEGIN EXCLUSIVE")
      #expect(try forgetting.step())
    }
    while try forgetting.step() {}
    #expect(forgetting.unreadable == [oldest.number] && forgetting.changed == 1)
    #expect(try vault.past(newest)["1"] == nil)
    #expect(readFile(draft) == nil)
  }

  private func rootPage(_ path: String) throws -> Int {
    let database = try Database(path: path, mode: .unchanging)
    let statement = try database.statement(
      "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_item_1'")
    defer { statement.reset() }
    try #require(try statement.step())
    return Int(statement.integer(0))
  }
}
