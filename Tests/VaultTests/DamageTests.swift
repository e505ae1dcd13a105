import Glibc
import Testing

@testable import LatchkeyVault

@Suite("Damage")
struct DamageTests {
  @Test("Damage to any byte never leads to a wrong secret, an empty answer or a trap", arguments: 0..<4)
  func flips(_ share: Int) throws {
    let specimen = try Specimen()
    let copy = try Home(copying: specimen.home)
    #expect(specimen.complaint(in: copy, damaged: specimen.database) == nil)
    #expect(specimen.items.count == 22)
    let step = Cuts.each ? 1 : 257
    var positions = Array(0..<100) + stride(from: 100, to: specimen.database.count, by: step)
    positions = positions.filter { $0 % 4 == share }
    for position in positions {
      var bytes = specimen.database
      bytes[position] ^= flip(position)
      if let complaint = specimen.complaint(in: copy, damaged: bytes) {
        Issue.record("byte \(position), \(specimen.database[position]) to \(bytes[position]): \(complaint)")
      }
    }
  }

  /// A mask that is never 0. The position decides whether it has one bit or all of them.
  private func flip(_ position: Int) -> UInt8 {
    let mixed = UInt64(truncatingIfNeeded: position) &* 0x9E37_79B9_7F4A_7C15 >> 32
    return mixed % 4 == 0 ? 0xff : 1 << UInt8(mixed / 4 % 8)
  }

  @Test("Damage by truncation is reported, and the file stays as it is")
  func cuts() throws {
    let specimen = try Specimen()
    let copy = try Home(copying: specimen.home)
    let whole = specimen.database.count
    // Missing bytes at the end of a file read as zeros, so a cut that removes only zeros is no damage.
    let last = try #require(specimen.database.lastIndex { $0 != 0 })
    let odd = [1, 15, 16, 99, 100, 512, 4095, 4097, whole - 4097, last]
    for size in Array(stride(from: 0, to: whole, by: 4096)) + odd {
      let bytes = Array(specimen.database.prefix(size))
      if let complaint = specimen.complaint(in: copy, damaged: bytes) { Issue.record("\(size) bytes: \(complaint)") }
      #expect((copy.read("vault.db") == bytes) as Bool, "\(size) bytes")
      let vault = copy.vault()
      vault.verifyToEnd()
      #expect(vault.problemTexts.contains { $0.hasPrefix("vault.db: ") }, "\(size) bytes")
    }
  }

  @Test("Damage by zeros over any page is reported")
  func zeros() throws {
    let specimen = try Specimen()
    let copy = try Home(copying: specimen.home)
    for page in stride(from: 0, to: specimen.database.count, by: 4096) {
      var bytes = specimen.database
      for position in page..<(page + 4096) { bytes[position] = 0 }
      if bytes == specimen.database { continue }
      if let complaint = specimen.complaint(in: copy, damaged: bytes) {
        Issue.record("page \(page / 4096): \(complaint)")
      }
    }
  }

  @Test("Damage by an older page in place of a newer one never leads to a wrong secret")
  func stalePages() throws {
    let specimen = try Specimen()
    let later = try Home(copying: specimen.home)
    do {
      let vault = try later.unlocked()
      for item in specimen.items { try vault.set(item.id, "newer \(item.name)") }
      vault.settleWhole()
    }
    let newer = later.read("vault.db")
    let copy = try Home(copying: later)
    for page in stride(from: 0, to: min(newer.count, specimen.database.count), by: 4096) {
      var bytes = newer
      bytes.replaceSubrange(page..<(page + 4096), with: specimen.database[page..<(page + 4096)])
      copy.write("vault.db", bytes)
      copy.remove("vault.db-wal")
      let vault = copy.vault()
      try? copy.unlock(vault)
      vault.verifyToEnd()
      for item in specimen.items {
        if let secret = try? vault.secretText(item.id) {
          #expect(secret == "newer \(item.name)" || secret == item.secret)
        }
        if let found = try? vault.ids(["name": item.name]) { #expect(found == [item.id]) }
      }
    }
  }

  @Test("Damage to the log after a crash never leads to a wrong secret, and a damaged database does not get the log")
  func log() throws {
    let specimen = try Specimen()
    let home = try Home(copying: specimen.home)
    let crashed: Home
    do {
      let vault = try home.unlocked()
      for number in 0..<3 { try vault.add(["name": "late-\(number)", "app": "late"], "late \(number)") }
      crashed = try Home(copying: home)
    }
    let log = crashed.read("vault.db-wal")
    let database = crashed.read("vault.db")
    #expect(log.count > 4096)
    #expect(try crashed.unlocked().ids(["app": "late"]).count == 3)
    let copy = try Home(copying: home)
    for position in stride(from: 0, to: log.count, by: Cuts.each ? 1 : 877) {
      var bytes = log
      bytes[position] ^= flip(position)
      copy.write("vault.db", database)
      copy.write("vault.db-wal", bytes)
      if let complaint = specimen.complaint(in: copy, file: database, keepsAll: true) {
        Issue.record("byte \(position) of the log: \(complaint)")
      }
    }
    // A whole log next to a damaged database. A checkpoint must not overwrite a damaged page that was reported.
    for position in stride(from: 100, to: database.count, by: Cuts.each ? 101 : 8009) {
      var bytes = database
      bytes[position] ^= flip(position)
      copy.write("vault.db", bytes)
      copy.write("vault.db-wal", log)
      if let complaint = specimen.complaint(in: copy, file: bytes, keepsAll: false) {
        Issue.record("byte \(position) beside a log: \(complaint)")
      }
    }
  }

  @Test("a walk that cannot go on does not count as a walk that found nothing")
  func interruptedWalk() throws {
    let home = try Home()
    let vault = try home.unlocked()
    try vault.add(["a": "1"], "s")
    // An error of SQLite that is not damage.
    try vault.database.store?.database.execute("ALTER TABLE alias RENAME TO elsewhere")
    let told = ToldVault()
    vault.delegate = told
    vault.verifyToEnd()
    #expect(vault.isDamaged && vault.problemTexts != [])
    // The problem is reported once, whatever else is found.
    _ = try? vault.ids(["a": "2"])
    #expect(told.damages == 1)
  }

  @Test("a call that finds damage stops all writing")
  func noted() throws {
    let specimen = try Specimen()
    let home = try Home(copying: specimen.home)
    var bytes = specimen.database
    // Every leaf page and interior page of an index.
    for page in 1..<(bytes.count / 4096) where [10, 2].contains(bytes[page * 4096]) { bytes[page * 4096] = 0x77 }
    home.write("vault.db", bytes)
    let vault = home.vault()
    _ = try? home.unlock(vault)
    _ = try? vault.ids(["name": "item-0"])
    _ = try? vault.ids([:])
    #expect(vault.isDamaged || !vault.problemTexts.isEmpty)
    #expect(throws: VaultError.self) { try vault.add(["x": "y"], "s") }
  }
}
