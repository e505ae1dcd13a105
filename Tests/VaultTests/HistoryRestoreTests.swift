import Glibc
import LatchkeyBackup
import LatchkeyKeybag
import Testing

@testable import LatchkeyVault

extension Vault {
  /// The differences to a generation, by label.
  func differences(from number: UInt32) throws -> [String: HistoryComparison.Change] {
    let comparison = try HistoryComparison(self, with: number)
    while try comparison.step() {}
    return Dictionary(comparison.lines.map { ($0.label, $0.change) }) { first, _ in first }
  }

  /// Brings back the selected items.
  func bringBack(
    _ selection: HistorySelection = .everything, from number: UInt32, replacing: Bool = false,
    isDry: Bool = false
  ) throws -> (report: ArchiveReport, changes: Restore.Changes) {
    let restore = try HistoryRestore(self, from: number, selection, replacing: replacing, isDry: isDry)
    while try restore.step() {}
    let changes = try restore.finish()
    return (restore.report, changes)
  }
}

@Suite("What comes back from a generation")
struct HistoryRestoreTests {
  /// A vault with a generation of the items "a", "b" and "c", all of one class.
  private func vault(_ home: Home, _ accessibility: AccessibilityClass? = nil) throws -> Vault {
    let vault = try home.unlocked()
    for name in ["a", "b", "c"] { try vault.add(["n": name], "old \(name)", accessibility, label: name) }
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    return vault
  }

  private func secrets(_ vault: Vault) throws -> [String: String] {
    var found: [String: String] = [:]
    for id in try vault.ids([:]) {
      found[try vault.reader.info(ofItem: id).metadata?.label ?? ""] = try vault.secretText(id)
    }
    return found
  }

  @Test("A restore brings back deleted items, changed items only on request, and nothing in a dry run")
  func everything() throws {
    let home = try Home()
    let vault = try vault(home)
    try vault.writer.deleteItem(1)
    try vault.set(2, "new b")
    try vault.add(["n": "d"], "new d", label: "d")
    #expect(try vault.history.entries().entries.map(\.items) == [3])
    #expect(try vault.differences(from: 1) == ["a": .deleted, "b": .changed, "d": .new])
    let rehearsal = try vault.bringBack(from: 1, replacing: true, isDry: true)
    #expect(rehearsal.report.added == 1 && rehearsal.report.replaced == 1 && rehearsal.report.same == 1)
    #expect(rehearsal.changes == Restore.Changes())
    #expect(try secrets(vault) == ["b": "new b", "c": "old c", "d": "new d"])
    let first = try vault.bringBack(from: 1)
    #expect(first.report.added == 1 && first.report.conflicts == 1 && first.report.same == 1)
    #expect(first.changes.added.map(\.item) == [5], "no number is used again")
    #expect(try secrets(vault) == ["a": "old a", "b": "new b", "c": "old c", "d": "new d"])
    let second = try vault.bringBack(from: 1, replacing: true)
    #expect(second.report.replaced == 1 && second.report.same == 2)
    #expect(try secrets(vault) == ["a": "old a", "b": "old b", "c": "old c", "d": "new d"])
    #expect(try vault.differences(from: 1) == ["d": .new])
    // A search finds the item by its attributes, and the database is whole.
    #expect(try vault.ids(["n": "a"]) == [5])
    let copy = try Home(copying: home)
    defer { withExtendedLifetime(copy) {} }
    let again = copy.vault()
    again.verifyToEnd()
    #expect(again.problemTexts == [])
  }

  @Test("A restore brings back one item or one collection if the request names it")
  func selected() throws {
    let home = try Home()
    let vault = try home.unlocked()
    let other = try vault.collections.create(label: "Other")
    let numbers = try ["a", "b"].map { try vault.add(["n": $0], $0, label: $0) }
    try vault.add(["n": "o"], "o", label: "o", in: other)
    vault.settleWhole()
    vault.keepWholeHistory()
    for id in try vault.ids([:]) { try vault.writer.deleteItem(id) }
    _ = try vault.bringBack(.numbers([numbers[1]]), from: 1)
    #expect(try secrets(vault) == ["b": "b"])
    _ = try vault.bringBack(.collection("Other"), from: 1)
    #expect(try secrets(vault) == ["b": "b", "o": "o"])
    #expect(try vault.ids([:], in: other).count == 1)
  }

  @Test("A restore never brings back an item that was destroyed with the login's password")
  func passcode() throws {
    let home = try Home()
    let vault = try vault(home, .whenPasscodeSetThisDeviceOnly)
    let former = contentsOfFolder(home.generations)
    try vault.passcode.destroyItems()
    #expect(vault.history.generations.isEmpty)
    // The former generations come back from a copy of the folder.
    for (name, bytes) in former { writeFile(home.generations + "/" + name, bytes) }
    vault.settle()
    try home.unlock(vault)
    try vault.startPasscodeItemsAnew()
    #expect(try vault.ids([:]) == [])
    for replacing in [false, true] {
      let outcome = try vault.bringBack(from: 1, replacing: replacing)
      #expect(outcome.report.left == 3 && outcome.report.added == 0)
      #expect(outcome.report.lines.allSatisfy { $0.why.contains("destroyed for good") })
    }
    #expect(try vault.ids([:]) == [])
    // The destroyed item stays lost even if the generation replaces the database.
    let copy = try Home(copying: home)
    copy.write("vault.db", readFile(copy.generations + "/" + vault.history.generations[0].name) ?? [])
    copy.remove("vault.db-wal")
    let older = try copy.unlocked()
    older.verifyToEnd()
    #expect(try older.ids([:]) == [])
  }

  @Test("A restored item is bound to the device as before")
  func otherDevice() throws {
    let home = try Home()
    let vault = try vault(home, .whenUnlockedThisDeviceOnly)
    for id in try vault.ids([:]) { try vault.writer.deleteItem(id) }
    vault.settle()
    let elsewhere = try Home(copying: home)
    let other = try elsewhere.unlocked(on: Home.otherMachine)
    let there = try other.bringBack(from: 1)
    #expect(there.report.left == 3 && there.report.added == 0)
    #expect(there.report.lines.allSatisfy { $0.why == "it was stored on another device" })
    #expect(try vault.bringBack(from: 1).report.added == 3)
    #expect(try secrets(vault)["b"] == "old b")
  }

  @Test("A restored item keeps its requirements, and leaves the requirements of other items alone")
  func requirements() throws {
    let home = try Home()
    let vault = try home.unlocked()
    var metadata = ItemMetadata(label: "g", attributes: ["n": "g"], contentType: "text/plain")
    metadata.flags = AccessControl.Condition.userPresence.rawValue
    let guarded = try vault.writer.createItem(
      in: 1, metadata, secret: try secure(Array("guarded".utf8)), accessibility: nil, replacing: false
    ).id
    let plainItem = try vault.add(["n": "p"], "old p", label: "p")
    vault.settleWhole()
    vault.keepWholeHistory()
    try vault.writer.deleteItem(guarded)
    // The other item has a requirement now.
    try vault.writer.setAccess(
      ofItem: plainItem, try AccessControl(rawValue: metadata.flags), accessibility: nil, passphrase: nil,
      fingers: nil, granted: nil)
    let outcome = try vault.bringBack(from: 1, replacing: true)
    #expect(outcome.report.added == 1 && outcome.report.conflicts == 1)
    let back = try #require(try vault.ids(["n": "g"]).first)
    #expect(throws: VaultError.needsGrant) { try vault.secretText(back) }
    let grant = try #require(try vault.reader.grant(item: back))
    let opened = try vault.reader.secret(ofItem: back, granted: grant)
    #expect(plain(opened.secret) == Array("guarded".utf8))
    #expect(throws: VaultError.needsGrant) { try vault.secretText(plainItem) }
  }

  @Test(
    "A restore never brings back a deleted item that got better protection since",
    arguments: ["requirement", "class", "lock", "killed"])
  func tightened(_ how: String) throws {
    let home = try Home()
    var vault = try vault(home, .afterFirstUnlock)
    switch how {
    case "class": try vault.writer.update(item: 1, accessibility: .whenUnlocked) { _ in }
    case "lock": try vault.writer.lockItem(1)
    default:
      try vault.writer.setAccess(
        ofItem: 1, try AccessControl(rawValue: AccessControl.Condition.userPresence.rawValue), accessibility: nil,
        passphrase: nil, fingers: nil, granted: nil)
    }
    if how == "killed" {
      vault.settle()
      let later = try Home(copying: home)
      defer { withExtendedLifetime(later) {} }
      vault = try later.unlocked()
      vault.settleWhole()
      // By the other vault's clock, the change is later than the generation.
      vault.keepWholeHistory(hours: 5)
      try vault.writer.deleteItem(1)
      #expect(try vault.bringBack(from: 1).report.items == 2, "the generation has lost it")
      return
    }
    try vault.writer.deleteItem(1)
    let outcome = try vault.bringBack(from: 1)
    #expect(outcome.report.added == 0 && outcome.report.left == 1)
    #expect(try vault.differences(from: 1) == ["a": .deleted])
    while vault.hasHistoryWork, vault.keepHistory() {}
    #expect(try vault.bringBack(from: 1).report.items == 2, "the generation has lost it")
    #expect(try secrets(vault) == ["b": "old b", "c": "old c"])
  }

  @Test("A restore brings back nothing from before the collection's passphrase")
  func passphraseSince() throws {
    let home = try Home()
    let vault = try home.unlocked()
    let other = try vault.collections.create(label: "Other")
    try vault.add(["n": "o"], "o", label: "o", in: other)
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    try vault.collections.setPassphrase(of: other, key: try Tape.key(), .make())
    #expect(vault.history.generations.isEmpty)
    #expect(throws: VaultError.unavailable(.noGeneration(1))) { try vault.bringBack(from: 1) }
    let made = vault.keepWholeHistory()
    #expect(made.count == 1)
    #expect(namesInFolder(home.generations) == made.map(\.name), "the former one is gone")
  }

  @Test("A restored item gets the stricter class if the item has another class now")
  func stricter() throws {
    let home = try Home()
    let vault = try vault(home, .afterFirstUnlock)
    _ = try vault.add(["n": "a"], "new a", .whenUnlocked, label: "a", replacing: true)
    _ = try vault.add(["n": "b"], "new b", .always, label: "b", replacing: true)
    #expect(try vault.bringBack(from: 1, replacing: true).report.replaced == 2)
    #expect(try secrets(vault)["a"] == "old a" && secrets(vault)["b"] == "old b")
    #expect(try vault.reader.info(ofItem: 1).accessibility == .whenUnlocked)
    #expect(try vault.reader.info(ofItem: 2).accessibility == .afterFirstUnlock)
  }

  @Test("A restored item that gets a stricter class is removed from generations that have its former class")
  func stricterThanBetween() throws {
    let home = try Home()
    let vault = try vault(home, .whenUnlocked)
    for id in 1...2 { try vault.writer.update(item: Int64(id), accessibility: .afterFirstUnlock) { _ in } }
    try vault.set(2, "new b")
    vault.keepWholeHistory()
    // One item comes back with its row unchanged, and the other item is sealed again.
    #expect(try vault.bringBack(from: 1, replacing: true).report.replaced >= 1)
    for id in 1...2 as ClosedRange<Int64> {
      guard try vault.reader.info(ofItem: id).accessibility == .whenUnlocked else { continue }
      #expect(vault.history.isTightened(try #require(try vault.database.ready().item(id)).uuid), "item \(id)")
    }
    #expect(try vault.reader.info(ofItem: 2).accessibility == .whenUnlocked)
    for id in try vault.ids([:]) { try vault.writer.deleteItem(id) }
    let outcome = try vault.bringBack(from: 2)
    #expect(!outcome.report.lines.contains { $0.label == "b" && $0.outcome == .added })
  }

  @Test("A restore leaves alone an item that a program stored under the same attributes, before or meanwhile")
  func programs() throws {
    let home = try Home()
    let vault = try vault(home)
    for id in 1...3 { try vault.writer.deleteItem(Int64(id)) }
    try vault.add(["n": "a"], "old a", label: "again")
    try vault.add(["n": "b"], "another b", label: "b")
    let restore = try HistoryRestore(vault, from: 1, .everything, replacing: false, isDry: false)
    while try restore.step() {}
    #expect(restore.report.same == 1 && restore.report.conflicts == 1 && restore.report.added == 1)
    try vault.add(["n": "c"], "meanwhile c", label: "c")
    #expect(try restore.finish() == Restore.Changes())
    #expect(restore.report.conflicts == 2 && restore.report.added == 0)
    #expect(try secrets(vault) == ["again": "old a", "b": "another b", "c": "meanwhile c"])
    let replacing = try vault.bringBack(from: 1, replacing: true)
    #expect(replacing.report.replaced == 2 && replacing.report.same == 1)
    #expect(try secrets(vault).values.sorted() == ["old a", "old b", "old c"])
    #expect(try vault.ids([:]).count == 3)
  }

  @Test("A restore brings back nothing of a locked collection, says so, and brings back nothing to a locked vault")
  func locked() throws {
    let home = try Home()
    let vault = try home.unlocked()
    let other = try vault.collections.create(label: "Other")
    let item = try vault.add(["n": "o"], "o", label: "o", in: other)
    vault.settleWhole()
    vault.keepWholeHistory()
    try vault.writer.deleteItem(item)
    try vault.collections.lock(other)
    let outcome = try vault.bringBack(from: 1)
    #expect(outcome.report.left == 1 && outcome.report.lines[0].collection == "Other")
    #expect(outcome.report.lines[0].why == "its collection is locked explicitly")
    vault.lock()
    #expect(throws: VaultError.isLocked) { try vault.bringBack(from: 1) }
    #expect(throws: VaultError.unavailable(.noGeneration(9))) { try vault.differences(from: 9) }
  }

  @Test("A restore brings back every readable item, wherever the generation is damaged")
  func damaged() throws {
    let home = try Home()
    let vault = try vault(home)
    for id in 1...3 { try vault.writer.deleteItem(Int64(id)) }
    let path = home.generations + "/" + vault.history.generations[0].name
    let whole = try #require(readFile(path))
    for page in stride(from: 0, to: whole.count, by: 4096) {
      var bytes = whole
      for position in page..<(page + 4096) { bytes[position] ^= 0x5a }
      writeFile(path, bytes)
      _ = try vault.history.entries()
      guard let outcome = try? vault.bringBack(from: 1, isDry: true) else { continue }
      #expect(outcome.report.added + outcome.report.left <= 4)
      if let bad = try? vault.bringBack(from: 1) {
        let found = try secrets(vault)
        #expect(found.count == Int(bad.report.added) && found.allSatisfy { $0.value == "old " + $0.key })
        for id in try vault.ids([:]) { try vault.writer.deleteItem(id) }
      }
      #expect(!vault.isDamaged, "page \(page / 4096)")
    }
  }
}
