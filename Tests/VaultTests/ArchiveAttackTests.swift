import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// Backups that somebody with the passphrase could have forged, and good backups with accidental damage.
@Suite("Backups under attack")
struct ArchiveAttackTests {
  /// A backup with these collections and items, in the order of the records.
  static func tape(_ records: (inout Script) throws -> Void) throws -> Tape {
    var script = Script(try BackupWriter(id: Tape.id, created: 1, .make(), key: try Tape.key()))
    try records(&script)
    return script.tape()
  }

  struct Script: ~Copyable {
    private var writer: BackupWriter
    private var chunks: [[UInt8]] = []

    init(_ writer: consuming BackupWriter) {
      self.writer = writer
      put(.beginning(BackupBeginning(vault: [UInt8](repeating: 1, count: 16), device: nil)))
    }

    private mutating func put(_ record: consuming BackupRecord) {
      writer.put(record)
      while let chunk = writer.chunk() { chunks.append(chunk) }
    }

    mutating func collection(_ label: String, uuid: UInt8, _ aliases: BackupCollection.Aliases = []) {
      put(
        .collection(
          BackupCollection(
            uuid: [UInt8](repeating: uuid, count: 16), label: label, aliases: aliases, hadPassphrase: false, created: 1)
        ))
    }

    mutating func collection(_ label: String, number: Int) {
      let uuid = (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
      put(
        .collection(
          BackupCollection(uuid: uuid, label: label, aliases: [], hadPassphrase: false, created: 1)))
    }

    mutating func item(
      _ attributes: [String: String], _ secret: String = "s", in collection: UInt32 = 0,
      _ accessibility: AccessibilityClass = .whenUnlocked, label: String = "l", type: String = "text/plain",
      flags: UInt32 = 0, times: UInt64 = 1
    ) throws {
      let metadata = ItemMetadata(label: label, attributes: attributes, contentType: type, flags: flags)
      put(
        .item(
          BackupItem(
            collection: collection, accessibility: accessibility, created: times, modified: times,
            metadata: metadata.encoded(revision: [UInt8](repeating: 0, count: 16)),
            secret: try SecureBytes(copying: Array(secret.utf8).span.bytes))))
    }

    consuming func tape() -> Tape {
      writer.finish()
      while let chunk = writer.chunk() { chunks.append(chunk) }
      return Tape(header: writer.header.bytes, chunks: chunks)
    }
  }

  let home: Home
  let vault: Vault
  private let copies = KeptHomes()

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  @Test("If two collections have the same label, a restore recognises the existing one and creates no duplicate")
  func sameLabel() throws {
    let first = try vault.collections.create(label: "Work")
    let second = try vault.collections.create(label: "Work")
    try vault.add(["n": "1"], "one", in: first)
    try vault.add(["n": "2"], "two", in: second)
    let tape = try Tape(vault)
    try vault.collections.delete(first)
    for _ in 0..<2 {
      try tape.restore(into: vault)
      #expect(try vault.ids([:]).count == 2)
      #expect(try vault.reader.items(in: second).map { try vault.secretText($0) } == ["two"])
      #expect(vault.collections.ids.count == 3)
    }
  }

  @Test("The login's collection is recognised by its purpose before another one is recognised by its label")
  func sameLabelAsLogin() throws {
    let label = try vault.collections.info(of: 1).label
    let tape = try ArchiveAttackTests.tape { script in
      script.collection(label, uuid: 1)
      script.collection("of another name", uuid: 2, .login)
      try script.item(["n": "other"], in: 0)
      try script.item(["n": "login"], in: 1)
    }
    for added: UInt64 in [2, 0] {
      #expect(try tape.restore(into: vault).added == added)
      #expect(try vault.reader.items(in: 1) == vault.ids(["n": "login"]))
    }
  }

  @Test(
    "An item that takes the backup's secret gets the conditions of both classes",
    arguments: [
      (AccessibilityClass.whenUnlocked, AccessibilityClass.always, AccessibilityClass.whenUnlocked),
      (.whenUnlockedThisDeviceOnly, .afterFirstUnlock, .whenUnlockedThisDeviceOnly),
      (.whenPasscodeSetThisDeviceOnly, .whenUnlocked, .whenPasscodeSetThisDeviceOnly),
      (.always, .whenUnlocked, .whenUnlocked),
      (.alwaysThisDeviceOnly, .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly),
      (.afterFirstUnlock, .afterFirstUnlock, .afterFirstUnlock),
    ])
  func classes(_ here: AccessibilityClass, _ theirs: AccessibilityClass, _ after: AccessibilityClass) throws {
    let id = try vault.add(["n": "1"], "here", here)
    let tape = try ArchiveAttackTests.tape { script in
      script.collection("Login", uuid: 1, .login)
      try script.item(["n": "1"], "theirs", theirs)
    }
    #expect(try tape.restore(into: vault, theirs: true).replaced == 1)
    #expect(try vault.secretText(id) == "theirs")
    #expect(try vault.reader.info(ofItem: id).accessibility == after)
    let again = try Home(copying: home).unlocked()
    #expect(try again.secretText(id) == "theirs")
  }

  @Test("A restore writes nothing to a collection that was locked explicitly meanwhile")
  func lockedMeanwhile() throws {
    let work = try vault.collections.create(label: "Work")
    let id = try vault.add(["n": "1"], "here", in: work)
    let tape = try ArchiveAttackTests.tape { script in
      script.collection("Work", uuid: 1)
      try script.item(["n": "1"], "theirs")
      try script.item(["n": "2"], "theirs")
    }
    #expect(throws: VaultError.unavailable(.item(.collectionLockedByProgram))) {
      try tape.restore(into: vault, theirs: true) { try vault.collections.lock(work) }
    }
    #expect(try vault.ids([:]) == [id])
    let report = try tape.restore(into: vault, theirs: true)
    #expect(report.lines.allSatisfy { $0.why == "its collection here is locked explicitly" } && report.left == 2)
  }

  @Test("A backup with countless collections does not fill the vault beyond its limit")
  func manyCollections() throws {
    let tape = try ArchiveAttackTests.tape { script in
      for number in 0..<1500 { script.collection("c", number: number) }
      try script.item(["n": "1"], in: 1499)
    }
    let report = try tape.restore(into: vault)
    #expect(report.left == 1 && vault.collections.ids.count == VaultCollections.limit)
    #expect(throws: VaultError.tooLarge) { try vault.collections.create(label: "one more") }
    #expect(try Home(copying: home).unlocked().collections.ids.count == VaultCollections.limit)
    try vault.collections.delete(2)
    #expect(try vault.collections.create(label: "in its place") > 200)
  }

  @Test("A restore refuses items that no program could have stored")
  func impossible() throws {
    let tape = try ArchiveAttackTests.tape { script in
      script.collection("Login", uuid: 1, .login)
      script.collection("nul\0l", uuid: 2)
      try script.item(["latchkey:accessible": "always", "n": "1"])
      try script.item(["latchkey:other": ""])
      try script.item(["n\0": "1"])
      try script.item(["n": "1\0"])
      try script.item(["n": "1"], label: "\0")
      try script.item(["n": "1"], type: "text\0")
      try script.item(["n": "in nul"], in: 1)
      try script.item(["n": "good"], times: .max)
    }
    let report = try tape.restore(into: vault)
    #expect(report.added == 1 && report.left == 7)
    #expect(vault.collections.ids == [1])
    let id = try #require(try vault.ids(["n": "good"]).first)
    #expect(try vault.reader.info(ofItem: id).created == .max)
    #expect(try Home(copying: home).unlocked().secretText(id) == "s")
  }

  @Test("The report shortens long labels, so that it needs no more memory than the items")
  func lines() throws {
    let long = String(repeating: "l", count: 100_000)
    let tape = try ArchiveAttackTests.tape { script in
      script.collection(long, uuid: 1)
      for number in 0..<20 { try script.item(["n": "\(number)"], in: 0, label: long) }
    }
    let report = try tape.restore(into: vault, dry: true)
    #expect(report.items == 20 && report.left == 20)
    #expect(report.lines.allSatisfy { $0.label.utf8.count <= 255 && $0.collection.utf8.count <= 255 })
  }

  @Test("Known damage keeps no undamaged item out of a backup")
  func damagedVault() throws {
    let (rest, work) = try damaged { rest, work in
      for collection in rest.keys.collections where collection.row.id == work { collection.row.label[30] ^= 1 }
      rest.database.note(.damaged(.verbatim("vault.db: something")))
    }
    let tape = try Tape(rest)
    #expect(tape.report.items == 2)
    #expect(tape.report.lines.map(\.collection) == ["More", "collection \(work)"])
    let other = try Home()
    #expect(try tape.restore(into: try other.unlocked(on: Home.otherMachine)).added == 2)
  }

  @Test("A backup names an item whose collection is damaged")
  func damagedPlace() throws {
    let (rest, _) = try damaged { rest, work in
      try rest.database.ready().database.execute(
        "PRAGMA foreign_keys = OFF; UPDATE item SET collection = 77 WHERE id = 2")
    }
    let tape = try Tape(rest)
    #expect(tape.report.items == 1 && tape.report.left == 1)
    #expect(tape.report.labels(.left).contains("item 2"))
  }

  /// A vault with two items, an empty locked collection, and another collection.
  private func damaged(_ damage: (Vault, Int64) throws -> Void) throws -> (Vault, Int64) {
    let work = try vault.collections.create(label: "Work")
    let more = try vault.collections.create(label: "More")
    try vault.add(["n": "1"], "one")
    try vault.add(["n": "2"], "two", in: work)
    try vault.collections.lock(more)
    vault.settleWhole()
    let copy = try Home(copying: home)
    copies.homes.append(copy)
    let rest = try copy.unlocked()
    try rest.collections.lock(more)
    try damage(rest, work)
    return (rest, work)
  }
}
