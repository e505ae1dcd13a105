import Backup
import Keybag
import Posix
import Sodium
import Testing

@testable import Vault

/// What somebody with the passphrase could have put into a backup, and what chance could do to a good one.
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

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  @Test("What is only told of costs no more memory than what is stored")
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

  @Test("Damage that is known already keeps nothing that is whole out of a backup")
  func damagedVault() throws {
    let (rest, work) = try damaged { rest, work in
      for collection in rest.open where collection.row.id == work { collection.row.label[30] ^= 1 }
      rest.note(.damaged("vault.db: something"))
    }
    let tape = try Tape(rest)
    #expect(tape.report.items == 2)
    #expect(tape.report.lines.map(\.collection) == ["More", "collection \(work)"])
    #expect(try tape.restore(into: try Home().unlocked(on: Home.otherMachine)).added == 2)
  }

  @Test("An item whose collection was damaged is named")
  func damagedPlace() throws {
    let (rest, _) = try damaged { rest, work in
      try rest.ready().database.execute("PRAGMA foreign_keys = OFF; UPDATE item SET collection = 77 WHERE id = 2")
    }
    let tape = try Tape(rest)
    #expect(tape.report.items == 1 && tape.report.left == 1)
    #expect(tape.report.labels(.left).contains("item 2"))
  }

  /// A vault with two items, a closed collection that is empty, and a second one.
  private func damaged(_ damage: (Vault, Int64) throws -> Void) throws -> (Vault, Int64) {
    let work = try vault.createCollection(label: "Work")
    let more = try vault.createCollection(label: "More")
    try vault.add(["n": "1"], "one")
    try vault.add(["n": "2"], "two", in: work)
    try vault.lockCollection(more)
    vault.settleWhole()
    let rest = try Home(copying: home).unlocked()
    try rest.lockCollection(more)
    try damage(rest, work)
    return (rest, work)
  }
}
