import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// The tier keys of every epoch, as the helper brings them.
final class Rotated {
  let tiers: TierKeys
  let former: [FormerTiers]

  init(_ opened: borrowing Keybag.Opened) throws {
    tiers = try opened.tiers()
    former = try opened.formerTiers()
  }
}

extension Home {
  /// The keys in the keybag now.
  func keys() throws -> Rotated {
    try Rotated(try Home.open(try Keybag(decoding: read("keybag"))))
  }

  /// Gives the keybag new keys, as the helper does.
  func rotateKeybag() throws -> Rotated {
    let folder = try KeybagFile.folder(home: path, owner: getuid())
    let opened = try Home.open(try KeybagFile.load(from: folder))
    let password = Home.password
    let next = try opened.rotated(password: password.span.bytes, cost: Home.cost)
    try KeybagFile.replace(try KeybagFile.load(from: folder), with: next.keybag, in: folder)
    return try Rotated(next)
  }

  /// Drops the epochs before `oldest` from the keybag.
  func drop(before oldest: UInt32) throws {
    let folder = try KeybagFile.folder(home: path, owner: getuid())
    let next = try Home.open(try KeybagFile.load(from: folder)).dropping(epochsBefore: oldest, proving: false)
    if let next { try KeybagFile.replace(try KeybagFile.load(from: folder), with: next, in: folder) }
  }

  func unlock(_ vault: Vault, _ keys: Rotated, opening: Vault.Opening = .everything) throws {
    vault.refresh()
    #expect(try vault.recognises(keys.tiers, former: keys.former))
    try vault.unlock(keys.tiers, former: keys.former, opening: opening, liftingLocks: true, mayCreate: false)
  }

  /// Gives the keybag new keys, and seals all items under them as far as possible.
  func rotate(_ vault: Vault) throws {
    try unlock(vault, try rotateKeybag())
    while try vault.rotation.step() {}
    try drop(before: vault.rotation.neededEpoch)
  }

  /// The vault in a new daemon, after a login.
  func reopened(on machine: [UInt8]? = Home.machine) throws -> Vault {
    let vault = vault(on: machine)
    try unlock(vault, try keys())
    vault.verifyToEnd()
    #expect(vault.problemTexts == [])
    return vault
  }

  fileprivate func column(_ sql: StaticString) throws -> [[UInt8]] {
    let database = try Database(path: folder + "/vault.db", mode: .existing)
    let statement = try database.statement(sql)
    defer { statement.reset() }
    var found: [[UInt8]] = []
    while try statement.step() { found.append(statement.blob(0)) }
    return found
  }
}

@Suite("New keys")
struct RotationTests {
  let home: Home

  init() throws { home = try Home() }

  /// An item of every class.
  private func fill(_ vault: Vault, in collection: Int64 = 1) throws -> [AccessibilityClass: Int64] {
    var ids: [AccessibilityClass: Int64] = [:]
    for accessibility in AccessibilityClass.allCases {
      ids[accessibility] = try vault.add(
        ["n": accessibility.name], accessibility.name, accessibility, in: collection)
    }
    return ids
  }

  private func expect(_ vault: Vault, _ ids: [AccessibilityClass: Int64]) throws {
    for (accessibility, id) in ids {
      #expect(try vault.secretText(id) == accessibility.name)
      #expect(try vault.ids(["n": accessibility.name]).contains(id))
      #expect(try vault.reader.info(ofItem: id).accessibility == accessibility)
    }
  }

  @Test("leave nothing of the former ones, in the keybag or the database, and every secret readable")
  func everything() throws {
    let keys: [[UInt8]]
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      _ = try vault.collections.create(label: "Empty")
      vault.settle()
    }
    keys =
      try home.column("SELECT class_key FROM class_key") + home.column("SELECT item_key FROM item")
      + home.column("SELECT metadata_key FROM class_key") + home.column("SELECT metadata FROM item")
      + home.column("SELECT share FROM device") + home.column("SELECT index_key FROM vault")
      + home.column("SELECT uuid FROM class_key")
    do {
      let vault = try home.reopened()
      try home.rotate(vault)
      #expect(try vault.rotation.progress() == RotationProgress())
      #expect(vault.rotation.neededEpoch == 2 && !vault.rotation.isUnderWay)
      try expect(vault, ids)
      // New items and collections work, too.
      let late = try vault.add(["n": "late"], "late")
      let other = try vault.collections.create(label: "Other")
      #expect(try vault.secretText(try vault.add(["n": "there"], "there", in: other)) == "there")
      vault.lock()
      try home.unlock(vault, try home.keys())
      #expect(try vault.secretText(late) == "late")
      vault.settle()
    }
    let file = home.read("vault.db") + home.read("vault.db-wal")
    for (number, key) in keys.enumerated() { #expect(!contains(file, key), "\(number) is still in the file") }
    let keybag = try Keybag(decoding: home.read("keybag"))
    #expect(keybag.epochs.map(\.number) == [2])
    let vault = try home.reopened()
    try expect(vault, ids)
    // The former keys open nothing.
    #expect(try !home.vault().recognises(home.tiers))
    #expect(throws: VaultError.self) { try home.vault().check(home.tiers, mayCreate: false) }
  }

  @Test("again and again")
  func repeated() throws {
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      for number in 2...12 as ClosedRange<UInt32> {
        try home.rotate(vault)
        #expect(vault.rotation.neededEpoch == number)
        try expect(vault, ids)
      }
    }
    let vault = try home.reopened()
    try expect(vault, ids)
    #expect(try vault.collections.collection(1).classes.count == AccessibilityClass.allCases.count)
  }

  @Test(
    "New keys that only the keybag has are used at the next unlock that also unlocks the screen")
  func interrupted() throws {
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      ids = try fill(vault)
      _ = try home.rotateKeybag()
    }
    let keys = try home.keys()
    let vault = home.vault()
    try home.unlock(vault, keys, opening: .session)
    #expect(try vault.secretText(try #require(ids[.afterFirstUnlock])) == "after-first-unlock")
    #expect(throws: VaultError.isLocked) { try vault.secretText(try #require(ids[.whenUnlocked])) }
    #expect(vault.rotation.neededEpoch == 1)
    // An item from before a change of keys is readable after the change.
    let early = try vault.add(["n": "early"], "early")
    try home.unlock(vault, keys)
    #expect(try vault.secretText(early) == "early")
    while try vault.writer.rewrapStoredWhileLocked() {}
    while try vault.rotation.step() {}
    #expect(vault.rotation.neededEpoch == 2)
    try expect(vault, ids)
    #expect(try vault.secretText(early) == "early")
  }

  @Test("New keys wait for items that were stored behind the locked screen, whose tags depend on the former keys")
  func storedWhileLocked() throws {
    let id: Int64
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      vault.lock()
      id = try vault.add(["n": "late"], "late")
      try home.unlock(vault)
      try home.unlock(vault, try home.rotateKeybag())
      // The tag still depends on the former keys.
      #expect(vault.rotation.neededEpoch == 1)
      try vault.writer.update(item: id) { $0.label = "renamed" }
      while try vault.rotation.step() {}
      #expect(vault.rotation.neededEpoch == 2)
      #expect(try vault.secretText(id) == "late")
      try home.drop(before: 2)
    }
    let again = try home.reopened()
    #expect(try again.secretText(id) == "late")
    #expect(try again.reader.info(ofItem: id).metadata?.label == "renamed")
  }

  @Test("New keys reach a locked collection when it is unlocked, and until then its former keys stay")
  func closed() throws {
    let key = try Key.random()
    let collection: Int64
    let marked: Int64
    var ids: [AccessibilityClass: Int64] = [:]
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      collection = try vault.collections.create(label: "Private")
      ids = try fill(vault, in: collection)
      try vault.collections.setPassphrase(of: collection, key: key, .make())
      marked = try vault.collections.create(label: "Marked")
      try vault.add(["n": "marked"], "marked", in: marked)
      try vault.collections.lock(collection)
      try vault.collections.lock(marked)
      let keys = try home.rotateKeybag()
      vault.refresh()
      try vault.unlock(keys.tiers, former: keys.former, opening: .everything, liftingLocks: false, mayCreate: false)
      while try vault.rotation.step() {}
      #expect(vault.rotation.neededEpoch == 1)
      #expect(try vault.rotation.progress().closed == Int64(ids.count + 1))
      // A second change of keys follows before the first one is complete.
      let more = try home.rotateKeybag()
      vault.refresh()
      try vault.unlock(more.tiers, former: more.former, opening: .everything, liftingLocks: false, mayCreate: false)
      #expect(vault.rotation.neededEpoch == 1)
      try home.drop(before: vault.rotation.neededEpoch)
    }
    do {
      let vault = try home.reopened()
      // The login opened the collection that had only a lock.
      #expect(try vault.secretText(try vault.ids(["n": "marked"])[0]) == "marked")
      #expect(try vault.collections.open(collection, passphraseKey: key))
      try expect(vault, ids)
      while try vault.rotation.step() {}
      #expect(vault.rotation.neededEpoch == 3)
      #expect(try vault.rotation.progress() == RotationProgress())
      try home.drop(before: 3)
    }
    let again = try home.reopened()
    #expect(try again.collections.open(collection, passphraseKey: key))
    try expect(again, ids)
  }

  @Test("New keys reach another device's items on that device, and until then the former keys stay")
  func otherDevice() throws {
    let here: [AccessibilityClass: Int64]
    do { here = try fill(try home.unlocked()) }
    let there: [AccessibilityClass: Int64]
    do {
      let vault = try home.reopened(on: Home.otherMachine)
      there = try fill(vault)
      try home.rotate(vault)
      #expect(vault.rotation.neededEpoch == 1)
      // The items of ...ThisDeviceOnly and of always, which were made on the first device.
      #expect(try vault.rotation.progress().otherDevice == 5)
      try expect(vault, there)
      #expect(try vault.secretText(try #require(here[.always])) == "always")
      #expect(throws: VaultError.otherDevice) { try vault.secretText(try #require(here[.whenUnlockedThisDeviceOnly])) }
    }
    // The change was interrupted before any item got new keys. The former tier keys are gone all the same.
    do {
      let vault = try home.reopened()
      #expect(vault.rotation.neededEpoch == 2)
      try home.drop(before: 2)
      try expect(vault, here)
    }
    do {
      let vault = try home.reopened()
      try expect(vault, here)
      while try vault.rotation.step() {}
      // Now this device has the newest keys. The other device's classes are already under keys of the present epoch.
      try expect(vault, here)
    }
    do {
      let again = try home.reopened(on: Home.otherMachine)
      while try again.rotation.step() {}
      try expect(again, there)
      #expect(again.rotation.neededEpoch == 2)
      #expect(try again.rotation.progress() == RotationProgress())
    }
    try home.drop(before: 2)
    try expect(try home.reopened(), here)
    try expect(try home.reopened(on: Home.otherMachine), there)
  }

  @Test("New keys do not wait for another device's deleted items, and the other device's classes are not damage")
  func otherDeviceWithoutItems() throws {
    let here: [AccessibilityClass: Int64]
    do { here = try fill(try home.unlocked()) }
    do {
      let vault = try home.reopened(on: Home.otherMachine)
      try home.rotate(vault)
      #expect(vault.rotation.neededEpoch == 1)
      for id in here.values { try vault.writer.deleteItem(id) }
      try home.unlock(vault, try home.keys())
      #expect(vault.rotation.neededEpoch == 2)
      try home.drop(before: 2)
    }
    let vault = try home.reopened()
    let ids = try fill(vault)
    try expect(vault, ids)
  }

  @Test("New keys are not begun if the vault is locked or not yet checked as a whole")
  func refused() throws {
    let vault = try home.unlocked()
    #expect(throws: VaultError.unavailable(.vault(.stillChecked))) {
      try vault.rotation.checkMayBegin()
    }
    vault.verifyToEnd()
    try vault.rotation.checkMayBegin()
    vault.lock()
    #expect(throws: VaultError.isLocked) { try vault.rotation.checkMayBegin() }
  }

  @Test("New keys let other requests run between small steps, and items written meanwhile get the newest keys")
  func steps() throws {
    var ids: [Int64] = []
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      for number in 0..<60 { ids.append(try vault.add(["n": "\(number)"], "\(number)")) }
      try home.unlock(vault, try home.rotateKeybag())
      #expect(try vault.rotation.progress().left == 60)
      var steps = 0
      while try vault.rotation.step(for: 0) {
        steps += 1
        let chosen = 59 - steps
        try vault.set(ids[chosen], "changed \(chosen)")
        #expect(try vault.secretText(ids[chosen]) == "changed \(chosen)")
        #expect(try vault.secretText(ids[0]) == "0")
        if steps == 2 { try vault.writer.deleteItem(ids[20]) }
      }
      #expect(steps > 25)
      #expect(try vault.rotation.progress() == RotationProgress())
      #expect(try vault.reader.itemCount() == 59)
    }
    let again = try home.reopened()
    #expect(try again.secretText(ids[58]) == "changed 58")
    #expect(try again.secretText(ids[10]) == "10")
  }

  @Test("New keys that a stranger's keybag brings open nothing")
  func strangers() throws {
    let vault = try home.unlocked()
    vault.verifyToEnd()
    let id = try vault.add(["n": "a"], "a")
    let keys = try home.rotateKeybag()
    vault.refresh()
    #expect(try !vault.recognises(keys.tiers, former: []))
    let stranger = FormerTiers(number: 1, tiers: try .random())
    #expect(try !vault.recognises(keys.tiers, former: [stranger]))
    #expect(throws: VaultError.self) { try vault.check(keys.tiers, former: [stranger], mayCreate: false) }
    #expect(try vault.secretText(id) == "a")
  }
}

@Suite("An interrupted change of keys", .serialized)
struct RotationCrashTests {
  @Test("in front of every single change of a file, by signal and by power, lose nothing")
  func everyCall() throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let template = try Home()
    do {
      let vault = try template.unlocked()
      vault.verifyToEnd()
      for number in 0..<8 { try vault.add(["n": "\(number)", "app": "crash"], "secret \(number)") }
      vault.lock()
      try vault.add(["n": "8", "app": "crash"], "secret 8")
    }
    let before = template.read("keybag")
    var points = 0
    for call in Cuts.calls {
      let home = try Home(copying: template)
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      seed(durable, with: home)
      let process = try Command(
        Command.crashing, ["rotate", home.path, "2"], input: Home.password,
        environment: CrashTests.environment(shim, home, durable, dieAt: call))
      let lines = process.lines()
      let status = process.wait()
      #expect(lines.allSatisfy { !$0.hasPrefix("error") }, "call \(call): \(lines)")
      // All unsynchronised writes are lost, or all are there as after a signal. Every third time, the last write is torn as well.
      for rest in CrashTests.Unsynchronised.allCases where rest != .torn || call.isMultiple(of: 3) {
        let after = try CrashTests.afterCut(home, durable, rest, seed: UInt64(call), keybag: before)
        do { try check(after, lines) } catch { Issue.record("call \(call), writes \(rest): \(error)") }
      }
      if status == 0 {
        #expect(lines.last == "settled")
        break
      }
      try #require(status == -SIGKILL)
      points = call
    }
    #expect(points > Cuts.enough(250))
  }

  /// The first rows are on the disk.
  private func seed(_ durable: String, with home: Home) {
    var names = ""
    for name in home.names {
      var file = stat()
      stat(home.folder + "/" + name, &file)
      names += "\(file.st_ino) \(name)\n"
      writeFile(durable + "/\(file.st_ino)", home.read(name))
    }
    writeFile(durable + "/names", Array(names.utf8))
  }

  private func check(_ home: Home, _ lines: [String]) throws {
    let vault = try home.reopened()
    var numbers = Array(0...8)
    for line in lines where line.hasPrefix("stored ") { numbers.append(try #require(Int(line.dropFirst(7)))) }
    func everythingIsThere() throws {
      for number in numbers {
        let found = try vault.ids(["n": "\(number)"])
        try #require(found.count == 1, "item \(number)")
        #expect(try vault.secretText(found[0]) == "secret \(number)")
      }
    }
    try everythingIsThere()
    while try vault.writer.rewrapStoredWhileLocked() {}
    while try vault.rotation.step() {}
    try everythingIsThere()
    #expect(try vault.rotation.progress() == RotationProgress())
    #expect(vault.rotation.neededEpoch == vault.keybag?.epoch.number)
    if lines.contains("keybag") { #expect(vault.rotation.neededEpoch == 2) }
  }
}
