import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import Testing

@testable import LatchkeyVault

@Suite("Healing deletes only what was deleted, and")
struct HealingDoubtTests {
  /// Bytes with a page of zeros.
  private static func zeroed(_ bytes: [UInt8], page: Int) -> [UInt8] {
    var bytes = bytes
    for position in page * 4096..<(page + 1) * 4096 { bytes[position] = 0 }
    return bytes
  }

  /// A home with an item that only the log and the generation have.
  private func storedBeforeGeneration() throws -> Home {
    let home = try Home()
    let vault = try home.unlocked()
    for number in 0..<30 {
      try vault.add(["n": "\(number)", "app": "all"], String(repeating: "x", count: 300), label: "item \(number)")
    }
    vault.settleWhole()
    // Nothing moves the log into the database while the test reads both files.
    let crashed = try Home(copying: home)
    let again = try crashed.unlocked()
    again.verifyToEnd()
    try again.add(["n": "Y", "app": "all"], "only in the log", label: "Y")
    let copy = try Home(copying: crashed)
    #expect(copy.read("vault.db-wal").count > 4096)
    try #require(again.keepWholeHistory().count == 1)
    mkdir(copy.generations, 0o700)
    for name in namesInFolder(crashed.generations) {
      writeFile(copy.generations + "/" + name, readFile(crashed.generations + "/" + name) ?? [])
    }
    return copy
  }

  @Test("A: keeps an item of the generation whose part of the log is damaged", arguments: [true, false])
  func damagedLog(_ isCut: Bool) throws {
    let home = try storedBeforeGeneration()
    var log = home.read("vault.db-wal")
    if isCut { log = Array(log.prefix(32 + 100)) } else { log[32 + 24 + 2000] ^= 1 }
    home.write("vault.db-wal", log)
    var bytes = home.read("vault.db")
    for position in 0..<4096 { bytes[position] = 0 }
    home.write("vault.db", bytes)
    let vault = try Patient.opened(home)
    let healing = try #require(vault.healing.done)
    let found = try vault.ids(["n": "Y"])
    #expect(try found.map { try vault.secretText($0) } == ["only in the log"], "\(healing.explanation)")
    #expect(healing.dropped == [] && !healing.isCounted)
    #expect(try vault.ids(["app": "all"]).count == 31)
  }

  @Test("B: keeps items that are newer than a damaged copy that was put back")
  func copyPutBack() throws {
    let patient = try Patient()
    let torn = Self.zeroed(patient.database, page: 0)
    do {
      let vault = try patient.home.unlocked()
      vault.verifyToEnd()
      let fourth = try vault.collections.create(label: "Fourth")
      for number in 70..<90 {
        try vault.add(
          ["n": "\(number)", "app": "all"], "newer", label: "item \(number)", in: number % 2 == 0 ? fourth : 1)
      }
      vault.settleWhole()
      vault.passHours(2)
      try #require(vault.keepWholeHistory().count == 2)
    }
    let copy = try Home(copying: patient.home)
    copy.remove("vault.db-wal")
    copy.write("vault.db", torn)
    let vault = try Patient.opened(copy)
    let healing = try #require(vault.healing.done)
    #expect(healing.dropped == [] && healing.droppedCollections == [] && !healing.isCounted)
    let labels = try vault.ids(["app": "all"]).compactMap { try vault.reader.info(ofItem: $0).metadata?.label }
    for number in 70..<90 { #expect(labels.contains("item \(number)"), "\(healing.explanation)") }
    #expect(vault.problemTexts == [])
  }

  @Test("C: keeps a collection that a page of its table has lost", arguments: ["collection", "class_key"])
  func stalePage(_ table: String) throws {
    let home = try Home()
    let before: [UInt8]
    do {
      let vault = try home.unlocked()
      try vault.add(["n": "1", "app": "all"], "first", label: "first")
      vault.settleWhole()
      before = home.read("vault.db")
      let second = try vault.collections.create(label: "Second")
      for number in 0..<20 {
        try vault.add(["n": "s\(number)", "app": "all"], "in second", label: "s\(number)", in: second)
      }
      vault.settleWhole()
      try #require(vault.keepWholeHistory().count == 1)
      try vault.add(["n": "late", "app": "all"], "late", label: "late")
      vault.settleWhole()
    }
    var bytes = home.read("vault.db")
    let root = try #require(try home.unlocked().database.ready().rootPage(of: table))
    let range = Int(root - 1) * 4096..<Int(root) * 4096
    try #require(bytes[range] != before[range])
    bytes.replaceSubrange(range, with: before[range])
    // The zeros make the vault find the damage at once.
    for position in 0..<4096 { bytes[position] = 0 }
    let copy = try Home(copying: home)
    copy.remove("vault.db-wal")
    copy.write("vault.db", bytes)
    let vault = try Patient.opened(copy)
    let healing = try #require(vault.healing.done)
    #expect(healing.droppedCollections == [] && healing.dropped == [])
    #expect(try vault.ids(["app": "all"]).count == 22, "\(healing.explanation)")
    #expect(vault.problemTexts == [])
  }

  @Test("Healing deletes only deleted items, and names them")
  func dropped() throws {
    let patient = try Patient()
    var bytes = patient.database
    for position in 0..<4096 { bytes[position] = 0 }
    let copy = try Home(copying: patient.home)
    copy.remove("vault.db-wal")
    copy.write("vault.db", bytes)
    let vault = try Patient.opened(copy)
    let healing = try #require(vault.healing.done)
    #expect(healing.dropped == [3, 10, 17] && healing.isCounted)
    #expect(healing.explanation.contains("deleted since the generation, and stay deleted: 3 (numbers 3, 10, 17)"))
    #expect(try patient.complaint(vault, healing) == nil)
  }

  @Test("Healing writes nothing into a database that it could not heal, and tries again with another generation")
  func failed() throws {
    let patient = try Patient()
    let home = try Home(copying: patient.home)
    home.remove("vault.db-wal")
    let vault = try home.unlocked()
    vault.database.note(.damaged(.verbatim("vault.db: found damaged")))
    // A folder is in the way of the copy.
    mkdir(home.folder + "/vault.db.healing", 0o700)
    writeFile(home.folder + "/vault.db.healing/x", [1])
    for _ in 0..<2 {
      try home.unlock(vault)
      #expect(vault.healing.done == nil && vault.isDamaged)
      #expect(vault.problemTexts.contains { $0.contains("cannot be repaired") })
      #expect(throws: VaultError.damaged(.verbatim("vault.db: found damaged"))) { try vault.add(["n": "new"], "x") }
      // The vault tries to heal only once.
      unlink(home.folder + "/vault.db.healing/x")
      rmdir(home.folder + "/vault.db.healing")
    }
    let name = try #require(namesInFolder(home.generations).first)
    let other = try #require(PastGeneration(name: name, size: 0))
    let next = PastGeneration(number: other.number + 1, time: other.time, epoch: other.epoch, size: 0).name
    writeFile(home.generations + "/" + next, readFile(home.generations + "/" + name) ?? [])
    try home.unlock(vault)
    #expect(vault.healing.done != nil && !vault.isDamaged)
    #expect(try patient.complaint(vault, vault.healing.done) == nil)
  }

  @Test("Healing replaces the database only by a whole database of this vault")
  func strangeCopy() throws {
    let patient = try Patient()
    let other = try Patient(padding: 10)
    for bytes in [[], [UInt8](repeating: 7, count: 8192), other.database, Self.zeroed(patient.database, page: 5)] {
      let home = try Home(copying: patient.home)
      home.remove("vault.db-wal")
      home.write("vault.db.healed-99990101-000000", bytes)
      let vault = try Patient.opened(home)
      #expect(vault.healing.done == nil && vault.problemTexts == [])
      #expect(try patient.complaint(vault, nil) == nil)
      #expect(!home.names.contains { $0.hasPrefix("vault.db.damaged-") })
    }
  }

  @Test("Healing leaves a database alone if it is too large for one step, and says so")
  func tooLarge() throws {
    let patient = try Patient()
    let home = try Home(copying: patient.home)
    home.remove("vault.db-wal")
    home.write("vault.db", Self.zeroed(patient.database, page: 0))
    #expect(truncate(home.folder + "/vault.db", (64 << 20) + 1) == 0)
    let vault = home.vault()
    #expect(throws: VaultError.self) { try home.unlock(vault) }
    #expect(vault.healing.done == nil && vault.problemTexts.contains { $0.contains("more than 64 MiB") })
    #expect(!home.names.contains { $0.hasPrefix("vault.db.") })
    #expect(truncate(home.folder + "/vault.db", patient.database.count) == 0)
    try home.unlock(vault)
    #expect(try vault.healing.done != nil && patient.complaint(vault, vault.healing.done) == nil)
  }

  @Test("Healing uses all of the damaged file even if it cannot be copied, or stops")
  func noCopy() throws {
    let patient = try Patient()
    let home = try Home(copying: patient.home)
    home.remove("vault.db-wal")
    let damaged = Self.zeroed(patient.database, page: 0)
    home.write("vault.db", damaged)
    mkdir(home.folder + "/vault.db.salvage", 0o700)
    let vault = home.vault()
    #expect(throws: VaultError.self) { try home.unlock(vault) }
    #expect(vault.healing.done == nil && vault.problemTexts.contains { $0.contains("cannot be repaired") })
    #expect((home.read("vault.db") == damaged) as Bool)
    rmdir(home.folder + "/vault.db.salvage")
    let later = try Patient.opened(home)
    #expect(try patient.complaint(later, later.healing.done) == nil)
  }
}

extension Store {
  fileprivate func rootPage(of table: String) throws -> Int64? {
    let statement = try database.statement("SELECT rootpage FROM sqlite_schema WHERE name = CAST(? AS TEXT)")
    defer { statement.reset() }
    guard try statement.bind(1, Array(table.utf8)).step() else { return nil }
    return statement.integer(0)
  }
}
