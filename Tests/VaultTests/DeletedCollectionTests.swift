import Glibc
import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyKeybag
@testable import LatchkeyVault

@Suite("A deleted collection")
struct DeletedCollectionTests {
  private static let classes: [AccessibilityClass] = [
    .whenUnlocked, .afterFirstUnlock, .always, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly,
  ]

  let home: Home
  let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  /// Creates a collection with an item of each class, makes a generation, and deletes the collection.
  private func makeAndDelete(_ label: String = "Work", alias: String? = "work") throws -> Int64 {
    let id = try vault.collections.create(label: label, alias: alias)
    for one in Self.classes { try vault.add(["n": one.name], "secret \(one.name)", one, label: one.name, in: id) }
    vault.settleWhole()
    vault.keepWholeHistory()
    try vault.collections.delete(id)
    return id
  }

  private func secrets(_ vault: Vault, in collection: Int64) throws -> [String: String] {
    var found: [String: String] = [:]
    for id in try vault.ids([:], in: collection) {
      found[try vault.reader.info(ofItem: id).metadata?.label ?? ""] = try vault.secretText(id)
    }
    return found
  }

  private var all: [String: String] {
    Dictionary(uniqueKeysWithValues: Self.classes.map { ($0.name, "secret \($0.name)") })
  }

  private func notices(_ report: ArchiveReport) -> [String] {
    report.lines.filter { $0.outcome == .notice }.map { "\($0.collection): \($0.why)" }
  }

  @Test("A deleted collection comes back with the password, with its number, label, alias, classes and secrets")
  func whole() throws {
    let id = try makeAndDelete()
    let other = try vault.collections.create(label: "Other")
    try vault.add(["n": "o"], "o", in: other)
    // The keys of the deleted collection are not in memory.
    for isDry in [true, false] {
      let waiting = try vault.bringBack(from: 1, isDry: isDry)
      #expect(waiting.report.left == 5 && waiting.report.added == 0 && waiting.changes == Restore.Changes())
      #expect(notices(waiting.report).count == 1)
      #expect(notices(waiting.report)[0].contains("Work: the collection was deleted; to"))
      #expect(vault.collections.hasWaiting && vault.collections.hasOwnLocks)
    }
    // Neither a screen unlock nor the password for another collection brings back the keys.
    try home.unlock(vault, liftingLocks: false)
    try vault.unlock(home.tiers, opening: .everything, liftingLocks: true, of: [other], mayCreate: false)
    #expect(try vault.bringBack(from: 1).report.added == 0)
    try home.unlock(vault)
    #expect(!vault.collections.hasWaiting)
    let rehearsal = try vault.bringBack(from: 1, isDry: true)
    #expect(rehearsal.report.added == 5 && rehearsal.changes == Restore.Changes() && vault.collections.ids.count == 2)
    #expect(notices(rehearsal.report) == ["Work: the collection was deleted, and would come back"])
    let done = try vault.bringBack(from: 1)
    #expect(done.report.added == 5 && done.report.left == 0 && done.changes.collections == [id])
    #expect(notices(done.report) == ["Work: the collection was deleted, and is back"])
    #expect(try vault.collections.info(of: id).label == "Work" && vault.collections.alias("work") == id)
    #expect(try secrets(vault, in: id) == all && secrets(vault, in: other) == ["item": "o"])
    #expect(try vault.bringBack(from: 1).report.same == 5)
    // A new item in the restored collection behaves like any other item, even behind the locked screen.
    vault.lock()
    try vault.add(["n": "while locked"], "while locked", .whenUnlocked, label: "while locked", in: id)
    try home.unlock(vault, liftingLocks: false)
    vault.settleWhole()
    let copy = try Home(copying: home)
    defer { withExtendedLifetime(copy) {} }
    let later = try copy.unlocked()
    later.verifyToEnd()
    #expect(later.problemTexts == [])
    #expect(try secrets(later, in: id) == all.merging(["while locked": "while locked"]) { $1 })
    #expect(try later.collections.alias("work") == id)
    for one in Self.classes {
      #expect(try later.reader.info(ofItem: try #require(later.ids(["n": one.name]).first)).accessibility == one)
    }
  }

  @Test("A deleted collection comes back even if another one has its place in the chain and its alias")
  func place() throws {
    let id = try makeAndDelete()
    vault.settle()
    // A new daemon gives the last collection's place in the chain to the next collection.
    let home = try Home(copying: home)
    let next = try home.unlocked()
    next.verifyToEnd()
    let other = try next.collections.create(label: "New", alias: "work")
    try next.add(["n": "o"], "o", in: other)
    #expect(Set(try next.database.ready().collections().map(\.ordinal)) == [0, 1])
    #expect(try next.bringBack(.collection("Work"), from: 1).report.left == 5)
    try home.unlock(next)
    #expect(try next.bringBack(.collection("c\(id)", id: id), from: 1).changes.collections == [id])
    #expect(try next.collections.alias("work") == other)
    next.settleWhole()
    let copy = try Home(copying: home)
    let later = try copy.unlocked()
    #expect(try secrets(later, in: id) == all && secrets(later, in: other) == ["item": "o"])
    // The collection is deleted and brought back once more.
    try later.collections.delete(id)
    #expect(try later.bringBack(.collection("Work"), from: 1).report.left == 5)
    try copy.unlock(later)
    #expect(try later.bringBack(.collection("Work"), from: 1).report.added == 5)
    #expect(try secrets(later, in: id) == all)
  }

  @Test("A deleted collection comes back for one of its items that is named by attributes or number")
  func oneItem() throws {
    let id = try makeAndDelete()
    let number = try #require(HistoryComparison.lines(of: vault, with: 1).first { $0.accessibility == .always }).item
    let unread = try vault.bringBack(.attributes(["n": "when-unlocked"]), from: 1)
    #expect(unread.report.items == 0 && notices(unread.report).count == 1 && vault.collections.hasWaiting)
    try home.unlock(vault)
    #expect(try vault.bringBack(.attributes(["n": "when-unlocked"]), from: 1).report.added == 1)
    #expect(try secrets(vault, in: id) == ["when-unlocked": "secret when-unlocked"])
    #expect(try vault.bringBack(.numbers([number]), from: 1).report.added == 1)
    #expect(try vault.bringBack(from: 1).report.same == 2)
    #expect(try secrets(vault, in: id) == all)
  }

  @Test("A deleted collection comes back with the items that were stored in it while it was locked")
  func storedWhileLocked() throws {
    let id = try vault.collections.create(label: "Work")
    vault.lock()
    try vault.add(["n": "l"], "locked", .whenUnlocked, label: "l", in: id)
    try home.unlock(vault, liftingLocks: false)
    vault.settleWhole()
    vault.keepWholeHistory()
    let store = try vault.history.open(vault.history.generations[0], vault: home.keybag.vault)
    #expect(try store.items(form: .storedWhileLocked, after: 0, limit: 9).count == 1)
    try vault.collections.delete(id)
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    #expect(try vault.bringBack(from: 1).report.added == 1)
    #expect(try secrets(vault, in: id) == ["l": "locked"])
  }

  @Test("A deleted collection loses its keys at a lock, and the waiting restore is dropped when the session ends")
  func locked() throws {
    _ = try makeAndDelete()
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    vault.lock()
    try home.unlock(vault)
    #expect(try vault.bringBack(from: 1).report.added == 0)
    vault.seal()
    #expect(!vault.collections.hasWaiting)
    try home.unlock(vault)
    #expect(try vault.bringBack(from: 1).report.added == 0)
  }

  @Test("A deleted collection that had a passphrase of its own does not come back, and the report says so")
  func passphrase() throws {
    let id = try vault.collections.create(label: "Work")
    try vault.add(["n": "w"], "w", in: id)
    vault.settleWhole()
    vault.keepWholeHistory()
    let former = contentsOfFolder(home.generations)
    try vault.collections.setPassphrase(of: id, key: try Tape.key(), .make())
    let made = try #require(vault.keepWholeHistory().first)
    try vault.collections.delete(id)
    for _ in 0..<2 {
      let outcome = try vault.bringBack(from: made.number)
      #expect(outcome.report.left == 1 && outcome.report.added == 0 && !vault.collections.hasWaiting)
      #expect(outcome.report.lines[0].why.contains("a collection with a passphrase of its own does not come back"))
      try home.unlock(vault)
    }
    // The generations from before the passphrase are gone. A copy of them brings the collection back as it was then
    // (docs/security/generations.md).
    #expect(Set(former.keys).isDisjoint(with: namesInFolder(home.generations)))
    // A changed row of a generation that claims no passphrase does not help an attacker.
    let store = try Store(path: home.generations + "/" + made.name, vault: home.keybag.vault)
    var row = try #require(store.collections().first { $0.id == id })
    row.passphrase = nil
    try store.update(row)
    try store.emptyLog()
    _ = try vault.bringBack(from: made.number)
    try home.unlock(vault)
    let forged = try vault.bringBack(from: made.number)
    #expect(forged.report.left == 1 && forged.report.lines[0].why.contains("the collection's keys are gone"))
    #expect(vault.collections.ids == [1])
  }

  @Test("A deleted collection comes back without the items that were destroyed with the login's password")
  func destroyed() throws {
    let id = try makeAndDelete()
    let former = contentsOfFolder(home.generations)
    try vault.passcode.destroyItems()
    #expect(vault.history.generations.isEmpty)
    for (name, bytes) in former { writeFile(home.generations + "/" + name, bytes) }
    vault.settle()
    try home.unlock(vault)
    try vault.startPasscodeItemsAnew()
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    let outcome = try vault.bringBack(from: 1)
    #expect(outcome.report.added == 4 && outcome.report.left == 1)
    let left = outcome.report.lines.filter { $0.outcome == .left }
    #expect(left.map(\.why) == ["it was destroyed for good with the password that it depended on"])
    var expected = all
    expected["when-passcode-set-this-device-only"] = nil
    #expect(try secrets(vault, in: id) == expected)
  }

  @Test("A deleted collection from before a change of keys does not come back, whatever is put into the folder")
  func rotated() throws {
    _ = try makeAndDelete()
    let former = contentsOfFolder(home.generations)
    // The collection's former keys are in memory when the change begins.
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    #expect(try vault.bringBack(from: 1, isDry: true).report.added == 5)
    let keys = try home.rotateKeybag()
    try vault.unlock(keys.tiers, former: keys.former, opening: .everything, liftingLocks: false, mayCreate: false)
    while try vault.rotation.step() {}
    vault.keepWholeHistory()
    #expect(vault.history.generations.allSatisfy { $0.epoch == 2 })
    for (name, bytes) in former {
      for name in [name, name.replacing("-1.db", with: "-2.db")] { writeFile(home.generations + "/" + name, bytes) }
    }
    for _ in 0..<2 {
      let outcome = try vault.bringBack(from: 1)
      #expect(outcome.report.added == 0 && outcome.report.left == 5)
      try home.unlock(vault, keys)
    }
    #expect(try vault.bringBack(from: 1).report.lines.contains { $0.why.contains("the collection's keys are gone") })
    #expect(vault.collections.ids == [1])
  }

  @Test("A deleted collection gets new keys at the next change of keys, like any other collection")
  func rotatedLater() throws {
    let id = try makeAndDelete()
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    #expect(try vault.bringBack(from: 1).report.added == 5)
    let before = try vault.database.ready().classKeys().filter { $0.collection == id }.map(\.uuid)
    try home.rotate(vault)
    let after = try vault.database.ready().classKeys().filter { $0.collection == id }.map(\.uuid)
    #expect(!before.isEmpty && Set(before).isDisjoint(with: after) && vault.rotation.neededEpoch == 2)
    vault.settle()
    #expect(try secrets(Home(copying: home).reopened(), in: id) == all)
  }

  @Test("A deleted collection comes back without an item that was explicitly locked at the deletion")
  func lockedItem() throws {
    let id = try vault.collections.create(label: "Work")
    let item = try vault.add(["n": "a"], "a", label: "a", in: id)
    try vault.add(["n": "b"], "b", label: "b", in: id)
    vault.settleWhole()
    vault.keepWholeHistory()
    try vault.writer.lockItem(item)
    try vault.collections.delete(id)
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    let outcome = try vault.bringBack(from: 1)
    #expect(outcome.report.added == 1 && outcome.report.left == 1)
    #expect(try secrets(vault, in: id) == ["b": "b"])
  }

  @Test("A deleted collection comes back without another device's items, and the report names them")
  func otherDevice() throws {
    let id = try makeAndDelete()
    vault.settle()
    let home = try Home(copying: home)
    let other = try home.unlocked(on: Home.otherMachine)
    _ = try other.bringBack(from: 1)
    try home.unlock(other)
    let outcome = try other.bringBack(from: 1)
    #expect(outcome.report.added == 3 && outcome.report.left == 2)
    #expect(outcome.report.lines.filter { $0.outcome == .left }.allSatisfy { $0.why.contains("another device") })
    #expect(try secrets(other, in: id).count == 3)
  }

  @Test("A deleted collection is not believed if a generation names it without the vault's keys")
  func forged() throws {
    let id = try makeAndDelete()
    let store = try Store(path: home.generations + "/" + vault.history.generations[0].name, vault: home.keybag.vault)
    for var row in try store.classKeys() where row.collection == id {
      row.classKey[30] ^= 1
      try store.update(row)
    }
    try store.emptyLog()
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    let outcome = try vault.bringBack(from: 1)
    #expect(
      outcome.report.left == 5 && outcome.report.added == 0 && vault.collections.ids == [1] && vault.problemTexts == [])
  }

  @Test("A deleted collection stays deleted if the vault has its highest number of collections")
  func limit() throws {
    _ = try makeAndDelete()
    _ = try vault.bringBack(from: 1)
    try home.unlock(vault)
    while vault.collections.ids.count < VaultCollections.limit { _ = try vault.collections.create(label: "more") }
    let outcome = try vault.bringBack(from: 1)
    #expect(outcome.report.left == 5 && outcome.report.lines.allSatisfy { $0.why.contains("up to 200") })
  }

  @Test("A deleted collection comes back at once at a login without a password")
  func passwordless() throws {
    let service = StandInDevice(seed: 3)
    let home = try Home()
    do {
      let first = try home.unlocked()
      let secret = try first.device.newSecret(vault: home.keybag.vault, protector: [UInt8](repeating: 4, count: 16))
      try KeybagFile.replace(
        home.keybag, with: try Home.open(home.keybag).removingPassword(secret),
        in: try KeybagFile.folder(home: home.path, owner: getuid()))
      first.settleWhole()
    }
    let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in service }
    try vault.openByDevice()
    let id = try vault.collections.create(label: "Work")
    try vault.add(["n": "w"], "w", label: "w", in: id)
    vault.settleWhole()
    try #require(vault.keepWholeHistory().count == 1)
    try vault.collections.delete(id)
    // The device key service does not answer for a while.
    service.failure = .unavailable(.device(.silent))
    #expect(
      throws: VaultError.unavailable(
        .both(
          .because(.item(.needsDeviceKey), .of(.deviceService, .device(.silent))), .item(.againWhenUsable)))
    ) { try vault.bringBack(from: 1) }
    #expect(vault.isUnlocked && vault.problemTexts == [] && !vault.collections.hasWaiting)
    service.failure = nil
    #expect(try vault.bringBack(from: 1).report.added == 1)
    #expect(try secrets(vault, in: id) == ["w": "w"])
  }
}

extension HistoryComparison {
  /// All differences.
  fileprivate static func lines(of vault: Vault, with number: UInt32) throws -> [Line] {
    let comparison = try HistoryComparison(vault, with: number)
    while try comparison.step() {}
    return comparison.lines
  }
}
