import Glibc
import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyKeybag
@testable import LatchkeyVault

extension Home {
  /// Makes the keybag open tier key C at logins without a password. A second call uses another secret, as after a change of keys.
  fileprivate func keepSession() throws {
    let folder = try KeybagFile.folder(home: path, owner: getuid())
    let wrapping = try #require(
      DeviceSecret.Wrapping(identity: Sodium.randomBytes(16), wrapped: Sodium.randomBytes(72)))
    let secret = DeviceSecret(protector: Sodium.randomBytes(16), wrapping: wrapping, key: try .random())
    try KeybagFile.replace(
      try KeybagFile.load(from: folder), with: try Home.open(try KeybagFile.load(from: folder)).settingSession(secret),
      in: folder)
  }

  /// A login without a password brings this key: tier key C of the keybag's newest epoch.
  fileprivate func sessionKey() throws -> SessionKey {
    let keybag = try Keybag(decoding: read("keybag"))
    return SessionKey(epoch: keybag.epoch.number, key: try Home.open(keybag).tiers().session.duplicate())
  }
}

@Suite("Tier key C alone")
struct SessionKeyTests {
  let home: Home

  init() throws { home = try Home() }

  /// Another daemon, in which logins without a password may open something.
  private func admitting(on machine: [UInt8]? = Home.machine) throws -> Vault {
    if try Keybag(decoding: home.read("keybag")).sessionProtector == nil { try home.keepSession() }
    return home.vault(on: machine)
  }

  private func fill(_ vault: Vault) throws -> [AccessibilityClass: Int64] {
    var ids: [AccessibilityClass: Int64] = [:]
    for accessibility in AccessibilityClass.allCases {
      ids[accessibility] = try vault.add(["n": accessibility.name], accessibility.name, accessibility)
    }
    return ids
  }

  private func error(_ body: () throws -> Void) -> VaultError? {
    do { try body() } catch { return error as? VaultError ?? .unavailable(.verbatim("\(error)")) }
    return nil
  }

  private func refusal(_ vault: Vault, _ session: borrowing SessionKey) -> VaultError? {
    do throws(VaultError) {
      try vault.check(session)
      return nil
    } catch { return error }
  }

  /// Everything that is readable after the first unlock, and nothing else.
  private func expectSessionOnly(_ vault: Vault, _ ids: [AccessibilityClass: Int64]) throws {
    for (accessibility, id) in ids {
      #expect(vault.hasKey(accessibility) == (accessibility.tier != .unlocked), "\(accessibility)")
      if accessibility.tier == .unlocked {
        #expect(error { _ = try vault.secretText(id) } == .isLocked)
        #expect(error { try vault.set(id, "other") } == .isLocked)
      } else {
        #expect(try vault.secretText(id) == accessibility.name)
      }
      #expect(try vault.ids(["n": accessibility.name]) == [id])
    }
    #expect(!vault.isUnlocked)
  }

  @Test("Tier key C opens the classes that are readable after the first unlock, and the password opens the others")
  func opens() throws {
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      ids = try fill(vault)
      _ = try vault.collections.create(label: "Other")
    }
    let vault = try admitting()
    let session = try home.sessionKey()
    #expect(try vault.recognises(session))
    try vault.unlock(session)
    try expectSessionOnly(vault, ids)
    #expect(try vault.collections.state(of: 1) == .locked)
    #expect(error { _ = try vault.collections.create(label: "New") } == .isLocked)
    let late = try vault.add(["late": "yes"], "late", .afterFirstUnlock)
    let sealed = try vault.add(["sealed": "yes"], "sealed", .whenUnlocked)
    #expect(try vault.secretText(late) == "late" && error { _ = try vault.secretText(sealed) } == .isLocked)
    vault.verifyToEnd()
    #expect(vault.problemTexts == [])

    try home.unlock(vault)
    for (accessibility, id) in ids { #expect(try vault.secretText(id) == accessibility.name) }
    while try vault.writer.rewrapStoredWhileLocked() {}
    #expect(try vault.secretText(late) == "late" && vault.secretText(sealed) == "sealed")
    vault.seal()
    for accessibility in [AccessibilityClass.afterFirstUnlock, .whenUnlocked] {
      #expect(!vault.hasKey(accessibility))
    }
  }

  @Test("Tier key C of another vault, another epoch or another key is not believed, and opens nothing")
  func foreign() throws {
    do { _ = try fill(try home.unlocked()) }
    let vault = try admitting()
    let other = try Home()
    do { _ = try other.unlocked() }
    try other.keepSession()
    let genuine = try home.sessionKey()
    func isRecognised(_ session: consuming SessionKey) throws -> Bool { try vault.recognises(session) }
    #expect(try !isRecognised(try other.sessionKey()))
    #expect(try !isRecognised(SessionKey(epoch: 1, key: try .random())))
    #expect(try !isRecognised(SessionKey(epoch: 2, key: try genuine.key.duplicate())))
    #expect(try !isRecognised(SessionKey(epoch: 1, key: try home.tiers.unlocked.duplicate())))
    #expect(try isRecognised(try home.sessionKey()))

    // An attacker put a keybag there together with a key of the attacker. The database reveals that.
    home.write("keybag", other.read("keybag"))
    let forged = home.vault()
    #expect(refusal(forged, try other.sessionKey()) != nil)
    #expect(error { try forged.unlock(try other.sessionKey()) } != nil && !forged.hasKey(.afterFirstUnlock))
  }

  @Test("Tier key C alone does not open a database that belongs to another commitment in the keybag")
  func altered() throws {
    do { _ = try fill(try home.unlocked()) }
    // Somebody who can write the files can make the keybag commit to another key. The database does not follow.
    let mine = SessionKey(epoch: 1, key: try .random())
    try home.keepSession()
    var file = home.read("keybag")
    let commitment = try mine.key.tag(.tierCommitment, [home.keybag.vault])
    let place = file.count - 96
    file.replaceSubrange(place..<(place + 32), with: commitment)
    let content = Array(file.dropLast(32))
    home.write("keybag", content + Sodium.checksum(content.span.bytes))
    let vault = try admitting()
    #expect(try vault.recognises(mine))
    #expect(refusal(vault, mine) == .unavailable(.vault(.notTogether)))
    #expect(error { try vault.unlock(mine) } != nil)
    #expect(!vault.hasKey(.afterFirstUnlock))
  }

  @Test("Tier key C alone creates nothing")
  func creating() throws {
    let vault = try admitting()
    let session = try home.sessionKey()
    #expect(try vault.recognises(session))
    let missing = VaultError.unavailable(.of(.database, .vault(.fileMissing)))
    #expect(refusal(vault, session) == missing)
    #expect(error { try vault.unlock(session) } == missing)
    #expect(home.names == ["keybag", "keybag.copy", "keybag.lock"])
  }

  @Test("Tier key C alone leaves collections locked that have an explicit lock or a passphrase")
  func closed() throws {
    let marked: Int64
    let item: Int64
    do {
      let vault = try home.unlocked()
      marked = try vault.collections.create(label: "Marked")
      item = try vault.add(["m": "1"], "marked", .afterFirstUnlock, in: marked)
      try vault.collections.lock(marked)
    }
    let vault = try admitting()
    try vault.unlock(try home.sessionKey())
    #expect(try vault.collections.state(of: marked) == .lockedExplicitly)
    #expect(error { _ = try vault.secretText(item) } == .isLocked)
    try home.unlock(vault)
    #expect(try vault.secretText(item) == "marked")
  }

  @Test("Tier key C alone does not report how new the files are, because nothing has proved the keybag genuine")
  func generations() throws {
    let device = StandInDevice(seed: 1)
    let memory = StandInMemory()
    device.memory = memory
    func vault() -> Vault {
      Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in device }
    }
    do { try home.unlock(vault()) }
    let notes = memory.notes.count
    #expect(notes > 0)
    try home.keepSession()
    let known = memory.known
    let opened = vault()
    try opened.unlock(try home.sessionKey())
    #expect(memory.known == known && memory.notes.count == notes + 1 && opened.olderFiles.found == [])
    try home.unlock(opened)
    #expect(memory.known != known && opened.olderFiles.found == [])
  }

  @Test("Tier key C alone reports an older copy that was put back, once, and does not have it remembered")
  func olderCopies() throws {
    let device = StandInDevice(seed: 1)
    let memory = StandInMemory()
    device.memory = memory
    let told = ToldVault()
    func vault() -> Vault {
      let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in device }
      vault.delegate = told
      return vault
    }
    func settled(_ vault: consuming Vault) {
      vault.verifyToEnd()
      vault.seal()
      vault.settle()
    }
    do {
      let first = vault()
      try home.unlock(first)
      settled(first)
    }
    try home.keepSession()
    do {
      let opened = vault()
      try home.unlock(opened)
      settled(opened)
    }
    let old = home.contents.filter { $0.key != "keybag.lock" }
    try home.keepSession()
    do {
      let second = vault()
      try home.unlock(second)
      settled(second)
    }
    for name in home.names where name.hasPrefix("vault.db-") { home.remove(name) }
    for (name, bytes) in old { home.write(name, bytes) }
    let known = memory.known
    // A silent service is reported, but delays nothing.
    memory.failure = .unavailable(.verbatim("it is away"))
    do {
      let deaf = vault()
      try deaf.unlock(try home.sessionKey())
      #expect(told.older == [] && deaf.problemTexts.count == 1 && deaf.hasKey(.afterFirstUnlock))
    }
    memory.failure = nil
    let opened = vault()
    try opened.unlock(try home.sessionKey())
    #expect(told.older == [[.keybag, .database]] && opened.olderFiles.found == [.keybag, .database])
    #expect(memory.known == known)
    // The password repeats the same report, and only then is the present state remembered.
    try home.unlock(opened)
    #expect(told.older.count == 1 && opened.olderFiles.found == [.keybag, .database] && memory.known != known)
    opened.endSession()
    opened.lock()
    try home.unlock(opened)
    #expect(told.older.count == 1 && opened.olderFiles.found == [])
  }

  @Test("Tier key C is not believed if the keybag has no protector for it, whatever newest epoch the keybag names")
  func forged() throws {
    do { _ = try fill(try home.unlocked()) }
    #expect(try !home.vault().recognises(try home.sessionKey()))
    // The attacker adds an epoch next to the genuine one, whose key the attacker lacks. The attacker also seals the index key,
    // which this machine opens without a password, under the added key.
    let mine = try TierKeys.random()
    let file = home.read("keybag")
    var row = ByteWriter()
    try TierEpoch(number: 2, tiers: mine, root: try .random(), vault: home.keybag.vault).encode(into: &row)
    let end = file.count - 64
    var content = Array(file[..<end])
    content[end - row.bytes.count - 1] = 2
    content += row.bytes
    content += file[end..<(end + 32)]
    home.write("keybag", content + Sodium.checksum(content.span.bytes))
    do {
      let vault = home.vault()
      let index = try #require(vault.keys.index)
      let wrap = try mine.session.derive(.indexWrap, [home.keybag.vault])
      let sealed = try SealedIndex(index, generation: 1).sealed(under: wrap, vault: home.keybag.vault)
      try vault.database.writing { store throws(VaultError) in
        var row = try store.vaultRow()
        row.indexKey = sealed
        try store.update(row)
      }
      vault.settleWhole()
    }
    let vault = home.vault()
    let key = SessionKey(epoch: 2, key: try mine.session.duplicate())
    #expect(vault.keybag?.epochs.count == 2 && vault.keybag?.sessionProtector == nil)
    #expect(refusal(vault, key) == nil, "the database does not tell")
    #expect(try !vault.recognises(key))
    #expect(error { try vault.unlock(key) } != nil && !vault.hasKey(.afterFirstUnlock))
  }

  // MARK: new keys

  @Test("Tier key C alone opens with new keys as well, once the change is complete")
  func rotated() throws {
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      try home.rotate(vault)
    }
    let vault = try admitting()
    try vault.unlock(try home.sessionKey())
    try expectSessionOnly(vault, ids)
  }

  @Test("Tier key C alone waits for the password if the keybag has new keys that the database lacks")
  func begun() throws {
    let ids: [AccessibilityClass: Int64]
    do { ids = try fill(try home.unlocked()) }
    _ = try home.rotateKeybag()
    let vault = try admitting()
    let session = try home.sessionKey()
    #expect(try vault.recognises(session))
    #expect(refusal(vault, session) == .isLocked)
    #expect(error { try vault.unlock(session) } == .isLocked)
    #expect(!vault.hasKey(.afterFirstUnlock) && vault.problemTexts == [])
    try home.unlock(vault, try home.keys())
    for (accessibility, id) in ids { #expect(try vault.secretText(id) == accessibility.name) }
  }

  @Test("Tier key C opens its classes during a change of keys, drops no former keys, and calls nothing damaged")
  func underWay() throws {
    let ids: [AccessibilityClass: Int64]
    let closed: Int64
    let late: Int64
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      closed = try vault.collections.create(label: "Closed")
      late = try vault.add(["late": "1"], "late", .afterFirstUnlock, in: closed)
      try vault.collections.lock(closed)
      // The change is complete, except for the explicitly locked collection.
      let keys = try home.rotateKeybag()
      vault.refresh()
      try vault.unlock(keys.tiers, former: keys.former, opening: .everything, liftingLocks: false, mayCreate: false)
      while try vault.rotation.step() {}
      #expect(vault.rotation.neededEpoch == 1)
    }
    let vault = try admitting()
    try vault.unlock(try home.sessionKey())
    try expectSessionOnly(vault, ids)
    #expect(vault.rotation.neededEpoch == 1 && vault.problemTexts == [])
    while try vault.rotation.step() {}
    #expect(vault.rotation.neededEpoch == 1 && home.keybagEpochs == [1, 2])
    try home.unlock(vault, try home.keys())
    #expect(try vault.secretText(late) == "late")
  }

  @Test("goes on with an access log whose newest entry depends on former keys, and keeps those keys for the password")
  func accessLog() throws {
    do {
      let vault = try home.unlocked()
      vault.accessLog.add(AccessEvent(.open, .ended(.granted), label: "before"))
      vault.accessLog.write()
      let former = try vault.database.reading { store throws(VaultError) in
        try AccessLogTable(store: store).rows(below: .max, limit: 1).first?.row
      }
      try home.unlock(vault, try home.rotateKeybag())
      // The log looks as if a change of keys could not seal its entries again.
      let row = try #require(former)
      try vault.database.writing { store throws(VaultError) in try AccessLogTable(store: store).update(row) }
      vault.settleWhole()
    }
    let vault = try admitting()
    try vault.unlock(try home.sessionKey())
    vault.accessLog.add(AccessEvent(.open, .ended(.granted), label: "after"))
    vault.accessLog.write()
    #expect(vault.accessLog.unwritten.all.isEmpty && vault.rotation.neededEpoch == 1)
    try home.unlock(vault, try home.keys())
    let entries = try vault.accessLog.entries(below: 0, limit: 9).entries
    #expect(entries.map(\.event?.label) == ["after", "before"])
  }

  @Test("Tier key C alone leaves the classes that depend on former keys to the password, one by one")
  func former() throws {
    let device: Int64
    let ids: [AccessibilityClass: Int64]
    do {
      let there = try home.unlocked(on: Home.otherMachine)
      there.verifyToEnd()
      device = try there.add(["d": "there"], "there", .afterFirstUnlockThisDeviceOnly)
    }
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      try home.rotate(vault)
      // The other device's item keeps the former keys in the keybag.
      #expect(vault.rotation.neededEpoch == 1)
    }
    #expect(home.keybagEpochs == [1, 2])
    do {
      let vault = try admitting()
      try vault.unlock(try home.sessionKey())
      try expectSessionOnly(vault, ids)
      #expect(error { _ = try vault.secretText(device) } != nil)
      #expect(vault.problemTexts == [] && vault.rotation.neededEpoch == 1)
      // The log is empty, so no entry depends on former keys.
      vault.accessLog.add(AccessEvent(.open, .ended(.granted), label: "first"))
      vault.accessLog.write()
      #expect(vault.accessLog.unwritten.all.isEmpty && vault.rotation.neededEpoch == 1)
    }
    do {
      let vault = try admitting()
      try vault.unlock(try home.sessionKey())
      vault.accessLog.add(AccessEvent(.open, .ended(.granted), label: "second"))
      vault.accessLog.write()
      #expect(vault.accessLog.unwritten.all.isEmpty)
      try home.unlock(vault, try home.keys())
      let entries = try vault.accessLog.entries(below: 0, limit: 9).entries
      #expect(entries.map(\.event?.label) == ["second", "first"])
    }
    let there = try admitting(on: Home.otherMachine)
    try there.unlock(try home.sessionKey())
    #expect(error { _ = try there.secretText(device) } == .isLocked)
    #expect(there.problemTexts == [])
    #expect(try there.secretText(try #require(ids[.afterFirstUnlock])) == AccessibilityClass.afterFirstUnlock.name)
    try home.unlock(there, try home.keys())
    #expect(try there.secretText(device) == "there")
  }
}

extension Home {
  fileprivate var keybagEpochs: [UInt32] { ((try? Keybag(decoding: read("keybag")))?.epochs ?? []).map(\.number) }
}
