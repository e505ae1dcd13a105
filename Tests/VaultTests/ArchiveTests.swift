import Glibc
import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// A backup in memory. It does what the daemon does between two vaults, but without a stream.
struct Tape {
  static let id = [UInt8](repeating: 9, count: 16)
  var header: [UInt8] = []
  var chunks: [[UInt8]] = []
  var report = ArchiveReport()

  /// A backup that the test assembled from records.
  init(header: [UInt8], chunks: [[UInt8]]) { (self.header, self.chunks) = (header, chunks) }

  static func key() throws -> Key { try Key(copying: [UInt8](repeating: 1, count: 32).span.bytes) }

  /// Backs up the vault.
  ///
  /// - Parameter meanwhile: called before each record.
  init(_ vault: Vault, id: [UInt8] = Tape.id, meanwhile: (Int) throws -> Void = { _ in }) throws {
    let export = try Export(vault, id: id)
    var writer = try BackupWriter(id: id, created: 1, .make(), key: try Tape.key())
    header = writer.header.bytes
    var records = 0
    while !writer.isOver {
      if let chunk = writer.chunk() {
        chunks.append(chunk)
        continue
      }
      try meanwhile(records)
      records += 1
      if let record = try export.next() { writer.put(record) } else { writer.finish() }
    }
    report = export.report
  }

  /// Restores the backup.
  @discardableResult
  func restore(
    into vault: Vault, theirs: Bool = false, dry: Bool = false, beforeEnd: () throws -> Void = {}
  ) throws -> ArchiveReport {
    let header = try BackupHeader(decoding: header)
    var reader = try BackupReader(header, key: try Tape.key())
    let restore = try Restore(vault, id: header.id, takingTheirs: theirs, isDry: dry)
    for chunk in chunks {
      try reader.take(chunk.span.bytes.extracting(droppingFirst: 4))
      while let record = try reader.next() { try restore.take(record) }
    }
    let isWhole = reader.isWhole
    #expect(isWhole)
    try beforeEnd()
    let changes = try restore.finish()
    #expect(UInt64(changes.added.count) == (dry ? 0 : restore.report.added))
    return restore.report
  }
}

extension ArchiveReport {
  func labels(_ outcome: Outcome) -> [String] { lines.filter { $0.outcome == outcome }.map(\.label) }
}

/// Everything that a restore should keep of an item.
private struct Content: Hashable {
  let collection: String
  let label: String
  let attributes: [String: String]
  let contentType: String
  let accessibility: AccessibilityClass
  let created: UInt64
  let modified: UInt64
  let secret: [UInt8]
}

extension Vault {
  fileprivate func contents() throws -> [Content] {
    var found: [Content] = []
    for collection in collections.ids {
      let label = try collections.info(of: collection).label
      for id in try reader.items(in: collection) where try isReadable(id) {
        let info = try reader.info(ofItem: id)
        let metadata = try #require(info.metadata)
        found.append(
          Content(
            collection: label, label: metadata.label, attributes: metadata.attributes,
            contentType: metadata.contentType, accessibility: info.accessibility, created: info.created,
            modified: info.modified, secret: try secretBytes(id)))
      }
    }
    return found
  }
}

@Suite("Backups")
struct ArchiveTests {
  let home: Home
  let vault: Vault
  let work: Int64
  /// The homes of the other machines.
  private let others = KeptHomes()

  init() throws {
    home = try Home()
    vault = try home.unlocked()
    work = try vault.collections.create(label: "Work")
    try vault.collections.setAlias("portal", to: work)
    for accessibility in AccessibilityClass.allCases {
      try vault.add(["n": accessibility.name], "s \(accessibility.name)", accessibility, label: accessibility.name)
    }
    try vault.add([:], "no attributes", label: "bare", in: work)
    try vault.add(["n": "large"], String(repeating: "x", count: 100_000), label: "large", in: work)
    try vault.add(["n": "empty"], "", label: "", in: work)
  }

  private func other() throws -> (home: Home, vault: Vault) {
    let home = try Home()
    others.homes.append(home)
    return (home, try home.unlocked(on: Home.otherMachine))
  }

  @Test("On another machine, a restore brings back every item that may migrate, and leaves out the others")
  func otherMachine() throws {
    let tape = try Tape(vault)
    #expect(tape.report.items == 9 && tape.report.left == 0)
    #expect(tape.report.labels(.excluded) == ["when-passcode-set-this-device-only"])
    let (otherHome, there) = try other()
    let report = try tape.restore(into: there)
    #expect(report.items == 9 && report.added == 6 && report.left == 3 && report.conflicts == 0)
    #expect(
      report.labels(.left).prefix(2) == [
        "when-unlocked-this-device-only", "after-first-unlock-this-device-only",
      ])
    let here = try vault.contents()
    let migrating: Set<AccessibilityClass> = [.whenUnlocked, .afterFirstUnlock, .always]
    let expected = Set(here.filter { migrating.contains($0.accessibility) })
    #expect(Set(try there.contents()) == expected && expected.count == 6)
    // The restored collection works like any other, even after a restart.
    there.verifyToEnd()
    #expect(there.problemTexts == [])
    let copy = try Home(copying: otherHome)
    let again = try copy.unlocked(on: Home.otherMachine)
    #expect(Set(try again.contents()) == expected)
    let id = try #require(try again.collections.alias("portal"))
    #expect(try again.collections.info(of: id).label == "Work")
    #expect(try again.isReadable(try again.add(["n": "new"], "s", in: id)))
    #expect(try again.collections.create(label: "Third") > id)
  }

  @Test("On the same device, a restore brings back everything, even into a new vault")
  func sameDevice() throws {
    let tape = try Tape(vault)
    let all = Set(try vault.contents().filter { $0.accessibility != .whenPasscodeSetThisDeviceOnly })
    #expect(all.count == 9)
    for id in try vault.ids([:]) { try vault.writer.deleteItem(id) }
    #expect(try tape.restore(into: vault).added == 9)
    #expect(Set(try vault.contents()) == all)

    // The vault was lost, but not the device key.
    let fresh = try Home()
    fresh.write(FileDeviceKey.name, home.read(FileDeviceKey.name))
    let created = fresh.vault()
    try created.unlock(fresh.tiers, opening: .everything, liftingLocks: true, mayCreate: true)
    #expect(try tape.restore(into: created).added == 9)
    #expect(Set(try created.contents()) == all)

    // A copy of the same files on another machine counts as another device.
    let stolen = try Home(copying: fresh)
    let elsewhere = try stolen.unlocked(on: Home.otherMachine)
    for id in try elsewhere.ids([:]) { try elsewhere.writer.deleteItem(id) }
    #expect(try tape.restore(into: elsewhere).left == 3)
  }

  @Test("If the device key was replaced, as by a move, the vault's share still opens the device's items")
  func movedKey() throws {
    let tape = try Tape(vault)
    let header = try BackupHeader(decoding: tape.header)
    var reader = try BackupReader(header, key: try Tape.key())
    let first = tape.chunks[0]
    try reader.take(first.span.bytes.extracting(droppingFirst: 4))
    var device: BackupDevice?
    if let record = try reader.next(), case .beginning(let beginning) = consume record { device = beginning.device }
    let known = try #require(device)
    func opens(_ device: BackupDevice, in vault: Vault) throws -> Bool {
      try vault.device.openBackupSeal(device, id: header.id) != nil
    }
    let nothing = [UInt8](repeating: 0, count: 72)
    #expect(try opens(known, in: vault))
    #expect(try opens(BackupDevice(identity: known.identity, byKey: nothing, byShare: known.byShare), in: vault))
    #expect(try opens(BackupDevice(identity: known.identity, byKey: known.byKey, byShare: nothing), in: vault))
    #expect(try !opens(BackupDevice(identity: known.identity, byKey: nothing, byShare: nothing), in: vault))
    let there = try other().vault
    #expect(try !opens(known, in: there))
    // A device's seal does not open in another backup.
    #expect(try vault.device.openBackupSeal(known, id: [UInt8](repeating: 0, count: 16)) == nil)
  }

  @Test("A second restore changes nothing, and a dry run never changes anything")
  func twice() throws {
    let tape = try Tape(vault)
    let (otherHome, there) = try other()
    there.settleWhole()
    let before = otherHome.contents
    let dry = try tape.restore(into: there, dry: true)
    #expect(dry.added == 6 && dry.left == 3)
    #expect(dry.labels(.added).contains("large"))
    #expect(otherHome.contents == before && there.collections.ids == [1])
    #expect(try tape.restore(into: there).added == 6)
    there.settleWhole()
    let after = otherHome.contents
    for _ in 0..<2 {
      let again = try tape.restore(into: there, theirs: true)
      #expect(again.added == 0 && again.same == 6 && again.left == 3 && again.replaced == 0)
    }
    there.settleWhole()
    #expect(otherHome.contents == after)
  }

  @Test("Another secret under the same attributes is a conflict, which --theirs resolves")
  func conflicts() throws {
    let tape = try Tape(vault)
    let id = try #require(try vault.ids(["n": "when-unlocked"]).first)
    try vault.set(id, "newer")
    let dry = try tape.restore(into: vault, dry: true)
    #expect(dry.labels(.conflict) == ["when-unlocked"] && dry.same == 8 && dry.added == 0)
    #expect(try tape.restore(into: vault).conflicts == 1)
    #expect(try vault.secretText(id) == "newer")
    let theirs = try tape.restore(into: vault, theirs: true)
    #expect(theirs.replaced == 1 && theirs.same == 8 && theirs.conflicts == 0)
    #expect(try vault.secretText(id) == "s when-unlocked")
    #expect(try vault.ids(["n": "when-unlocked"]) == [id])
  }

  @Test("Not even --theirs replaces an item that cannot be read")
  func unreadable() throws {
    let tape = try Tape(vault)
    // A copy of the vault on another machine cannot read the ThisDeviceOnly items of the first.
    let copy = try Home(copying: home)
    let there = try copy.unlocked(on: Home.otherMachine)
    let id = try #require(try there.ids(["n": "when-unlocked-this-device-only"]).first)
    try vault.writer.deleteItem(try #require(try vault.ids(["n": "when-unlocked-this-device-only"]).first))
    try vault.add(["n": "when-unlocked-this-device-only"], "other", label: "blind")
    let second = try Tape(vault)
    let report = try second.restore(into: there, theirs: true)
    #expect(report.labels(.conflict) == ["blind"])
    #expect(throws: VaultError.otherDevice) { try there.secretText(id) }
    #expect(tape.report.items == second.report.items)
  }

  @Test("Items with equal attributes come back as they were")
  func twins() throws {
    for secret in ["one", "two", "two"] { try vault.add(["n": "twin"], secret, label: "twin") }
    let tape = try Tape(vault)
    let there = try other().vault
    for _ in 0..<2 {
      try tape.restore(into: there)
      let secrets = try there.ids(["n": "twin"]).map { try there.secretText($0) }
      #expect(secrets.sorted() == ["one", "two", "two"])
    }
    // If one of two equal items still exists, it stands for both, and the restore creates no duplicate.
    let same = try there.ids(["n": "twin"]).filter { try there.secretText($0) == "two" }
    try there.writer.deleteItem(same[0])
    #expect(try tape.restore(into: there).added == 0)
    #expect(try there.ids(["n": "twin"]).count == 2)
  }

  @Test("The class, flags and a foreign collection with the same label")
  func matching() throws {
    let there = try other().vault
    let own = try there.collections.create(label: "Work")
    try there.add(["n": "empty"], "", .afterFirstUnlock, label: "mine", in: own)
    let tape = try Tape(vault)
    let report = try tape.restore(into: there)
    #expect(there.collections.ids == [1, own], "by its label")
    #expect(report.same == 1 && report.added == 5)
    #expect(try there.collections.alias("portal") == own)
    let kept = try #require(try there.ids(["n": "empty"]).first)
    #expect(try there.reader.info(ofItem: kept).accessibility == .afterFirstUnlock)
    // The portal's collection is recognised by its purpose, even under another label.
    try there.collections.setLabel(of: own, "Renamed")
    #expect(try tape.restore(into: there).same == 6)
  }

  @Test("A backup leaves out locked collections, and a restore does not change them")
  func closed() throws {
    let tape = try Tape(vault)
    try vault.collections.setPassphrase(of: work, key: try Tape.key(), .make())
    let open = try Tape(vault)
    #expect(open.report.items == 9 && open.report.left == 0)
    try vault.collections.lock(work)
    let without = try Tape(vault)
    #expect(without.report.items == 6 && without.report.left == 3)
    #expect(without.report.lines.filter { $0.outcome == .left }.map(\.collection) == ["Work"])
    let report = try tape.restore(into: vault)
    #expect(report.same == 6 && report.left == 3 && report.added == 0)
    #expect(try vault.collections.state(of: work) == .needsPassphrase)
    // On another machine the collection has no passphrase, and the report says so.
    let there = try other().vault
    let told = try open.restore(into: there).lines.filter { $0.outcome == .notice }
    #expect(told.count == 2 && told.allSatisfy { $0.collection == "Work" })
    #expect(try there.collections.state(of: there.collections.ids[1]) == .unlocked)

    try vault.collections.lock(1)
    let nothing = try Tape(vault)
    #expect(nothing.report.items == 0 && nothing.report.left == 10)
  }

  @Test("A backup and a restore need an unlocked vault from beginning to end")
  func locked() throws {
    let tape = try Tape(vault)
    #expect(throws: VaultError.isLocked) {
      _ = try Tape(vault) { if $0 == 4 { vault.lock() } }
    }
    #expect(throws: VaultError.isLocked) { _ = try Tape(vault) }
    #expect(throws: VaultError.isLocked) { try tape.restore(into: vault) }
    vault.seal()
    #expect(throws: VaultError.isLocked) { _ = try Tape(vault) }
    let (otherHome, there) = try other()
    there.settleWhole()
    let before = otherHome.contents
    #expect(throws: VaultError.isLocked) { try tape.restore(into: there, beforeEnd: { there.lock() }) }
    #expect(otherHome.contents == before)
  }

  @Test("While programs write, a backup has each item as of one moment, and a restore keeps the programs' items")
  func meanwhile() throws {
    let bare = try #require(try vault.ids([:], in: work).first)
    let tape = try Tape(vault) { record in
      guard record == 4 else { return }
      try vault.writer.deleteItem(bare)
      let late = try vault.collections.create(label: "Late")
      try vault.add(["n": "late"], "late", label: "late", in: late)
      try vault.set(try #require(try vault.ids(["n": "large"]).first), "small now")
    }
    let there = try other().vault
    let report = try tape.restore(into: there) {
      try there.add(["n": "when-unlocked"], "of a program")
      try there.add(["n": "unrelated"], "unrelated")
    }
    // The restore had decided about the new collection, and about all others, before the programs wrote.
    #expect(report.labels(.conflict) == ["when-unlocked"])
    #expect(try there.secretText(try #require(try there.ids(["n": "late"]).first)) == "late")
    #expect(try there.secretText(try #require(try there.ids(["n": "large"]).first)) == "small now")
    #expect(try there.ids(["n": "when-unlocked"]).map { try there.secretText($0) } == ["of a program"])
    let third = try other().vault
    #expect(throws: VaultError.unavailable(.item(.collectionCreatedMeanwhile))) {
      try tape.restore(into: third) { _ = try third.collections.create(label: "Third") }
    }
    #expect(try third.ids([:]) == [] && third.collections.ids.count == 2)
    let fourth = try other().vault
    let own = try fourth.collections.create(label: "Work")
    #expect(throws: VaultError.unavailable(.item(.collectionDeletedMeanwhile))) {
      try tape.restore(into: fourth) { try fourth.collections.delete(own) }
    }
    #expect(try fourth.ids([:]) == [] && !fourth.isDamaged)
  }

  @Test("A collection that is locked during a backup is reported, and one that is unlocked during it is left out")
  func closedMeanwhile() throws {
    let tape = try Tape(vault) { if $0 == 5 { try vault.collections.lock(work) } }
    #expect(tape.report.items == 6 && tape.report.left == 3)
    #expect(tape.report.lines.count { $0.why == "its collection was locked meanwhile" } == 3)
    let other = try Tape(vault) { if $0 == 5 { try home.unlock(vault) } }
    #expect(other.report.items == 6 && other.report.left == 3)
    #expect(try Tape(vault).report.left == 0)
  }

  @Test("A backup names a damaged item and has all others")
  func damaged() throws {
    let id = try #require(try vault.ids(["n": "large"]).first)
    vault.settleWhole()
    let copy = try Home(copying: home)
    let rest = try copy.unlocked()
    let row = try rest.database.reading { store throws(VaultError) in try store.item(id) }
    var broken = try #require(row)
    broken.secret[100] ^= 1
    let written = broken
    try rest.database.writing { store throws(VaultError) in try store.update(written) }
    let tape = try Tape(rest)
    #expect(tape.report.items == 8 && tape.report.labels(.left) == ["large"])
    #expect(try tape.restore(into: try other().vault).added == 5)
    // A restore writes nothing to a damaged vault.
    #expect(throws: VaultError.self) { try tape.restore(into: rest) }
  }

  @Test("Another machine can open no secret, label or attribute of this device's items")
  func sealed() throws {
    let tape = try Tape(vault)
    let header = try BackupHeader(decoding: tape.header)
    var reader = try BackupReader(header, key: try Tape.key())
    var plaintext: [UInt8] = []
    for chunk in tape.chunks {
      try reader.take(chunk.span.bytes.extracting(droppingFirst: 4))
      while let record = try reader.next() {
        if case .item(let item) = consume record { plaintext += item.metadata + plain(item.secret) }
      }
    }
    #expect(contains(plaintext, Array("s when-unlocked".utf8)), "the control")
    for accessibility in AccessibilityClass.allCases where accessibility.name.hasSuffix("this-device-only") {
      #expect(!contains(plaintext, Array("s \(accessibility.name)".utf8)))
    }
    for name in ["always-this-device-only", "when-passcode-set-this-device-only"] {
      #expect(!contains(plaintext, Array(name.utf8)))
    }
  }
}

@Suite("A restore onto a full disk", .enabled(if: geteuid() == 0, "needs to mount a small disk"), .serialized)
struct ArchiveFullDiskTests {
  @Test("A restore onto a full disk writes the whole backup or nothing", arguments: [0, 16384, 131_072, 400_000])
  func fullDisk(_ rest: Int) throws {
    let source = try Home()
    let from = try source.unlocked()
    let more = try from.collections.create(label: "More")
    for number in 0..<100 {
      try from.add(["n": "\(number)"], String(repeating: "s", count: 3000), in: number % 2 == 0 ? 1 : more)
    }
    let tape = try Tape(from)
    let disk = try #require(SmallDisk())
    let home = try Home(below: disk.path)
    let vault = try home.unlocked()
    let id = try vault.add(["n": "here"], "here")
    vault.settleWhole()
    disk.fill(butFor: rest)
    #expect(throws: VaultError.diskFull) { try tape.restore(into: vault) }
    #expect(try vault.ids([:]) == [id] && vault.collections.ids == [1] && !vault.isDamaged)
    disk.free()
    #expect(try tape.restore(into: vault).added == 100)
    #expect(try vault.ids([:]).count == 101 && vault.collections.ids.count == 2)
    vault.settleWhole()
    #expect(vault.problemTexts == [])
    #expect(try vault.secretText(try #require(try vault.ids(["n": "99"]).first)).count == 3000)
  }
}
