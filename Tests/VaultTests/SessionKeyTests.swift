import Glibc
import Keybag
import Posix
import Sodium
import StandInDevice
import Testing

@testable import Vault

extension Home {
  /// What a login without a password brings: tier key C of the newest generation of the keybag.
  fileprivate func sessionKey() throws -> SessionKey {
    let keybag = try Keybag(decoding: read("keybag"))
    return SessionKey(epoch: keybag.epoch.number, key: try Home.open(keybag).tiers().session.duplicate())
  }
}

@Suite("Tier key C alone")
struct SessionKeyTests {
  let home: Home

  init() throws { home = try Home() }

  private func fill(_ vault: Vault) throws -> [AccessibilityClass: Int64] {
    var ids: [AccessibilityClass: Int64] = [:]
    for accessibility in AccessibilityClass.allCases {
      ids[accessibility] = try vault.add(["n": accessibility.name], accessibility.name, accessibility)
    }
    return ids
  }

  private func error(_ body: () throws -> Void) -> VaultError? {
    do { try body() } catch { return error as? VaultError ?? .unavailable("\(error)") }
    return nil
  }

  private func refusal(_ vault: Vault, _ session: borrowing SessionKey) -> VaultError? {
    do throws(VaultError) {
      try vault.check(session)
      return nil
    } catch { return error }
  }

  /// What is readable after the first unlock, and nothing else.
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

  @Test("opens what is readable after the first unlock, and the password all the rest")
  func opens() throws {
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      ids = try fill(vault)
      _ = try vault.createCollection(label: "Other")
    }
    let vault = home.vault()
    let session = try home.sessionKey()
    #expect(try vault.recognises(session))
    try vault.unlock(session)
    try expectSessionOnly(vault, ids)
    #expect(try vault.state(of: 1) == .evicted)
    #expect(error { _ = try vault.createCollection(label: "New") } == .isLocked)
    let late = try vault.add(["late": "yes"], "late", .afterFirstUnlock)
    let sealed = try vault.add(["sealed": "yes"], "sealed", .whenUnlocked)
    #expect(try vault.secretText(late) == "late" && error { _ = try vault.secretText(sealed) } == .isLocked)
    vault.verifyToEnd()
    #expect(vault.problems == [])

    try home.unlock(vault)
    for (accessibility, id) in ids { #expect(try vault.secretText(id) == accessibility.name) }
    while try vault.rewrapStoredWhileLocked() {}
    #expect(try vault.secretText(late) == "late" && vault.secretText(sealed) == "sealed")
    vault.seal()
    for accessibility in [AccessibilityClass.afterFirstUnlock, .whenUnlocked] {
      #expect(!vault.hasKey(accessibility))
    }
  }

  @Test("of another vault, another generation or another key is not believed, and opens nothing")
  func foreign() throws {
    do { _ = try fill(try home.unlocked()) }
    let vault = home.vault()
    let other = try Home()
    do { _ = try other.unlocked() }
    let genuine = try home.sessionKey()
    func isRecognised(_ session: consuming SessionKey) throws -> Bool { try vault.recognises(session) }
    #expect(try !isRecognised(try other.sessionKey()))
    #expect(try !isRecognised(SessionKey(epoch: 1, key: try .random())))
    #expect(try !isRecognised(SessionKey(epoch: 2, key: try genuine.key.duplicate())))
    #expect(try !isRecognised(SessionKey(epoch: 1, key: try home.tiers.unlocked.duplicate())))
    #expect(try isRecognised(try home.sessionKey()))

    // A keybag that somebody put there together with a key of his own: the database tells.
    home.write("keybag", other.read("keybag"))
    let forged = home.vault()
    #expect(refusal(forged, try other.sessionKey()) != nil)
    #expect(error { try forged.unlock(try other.sessionKey()) } != nil && !forged.hasKey(.afterFirstUnlock))
  }

  @Test("does not open a database that goes with another commitment in the keybag")
  func altered() throws {
    do { _ = try fill(try home.unlocked()) }
    // Whoever can write the files can make the keybag call another key this generation's. The database does not.
    let mine = SessionKey(epoch: 1, key: try .random())
    var file = home.read("keybag")
    let commitment = try mine.key.tag(.tierCommitment, [home.keybag.vault])
    let place = file.count - 96
    file.replaceSubrange(place..<(place + 32), with: commitment)
    let content = Array(file.dropLast(32))
    home.write("keybag", content + Sodium.checksum(content.span.bytes))
    let vault = home.vault()
    #expect(try vault.recognises(mine))
    #expect(refusal(vault, mine) == .unavailable("keybag and vault.db do not belong together"))
    #expect(error { try vault.unlock(mine) } != nil)
    #expect(!vault.hasKey(.afterFirstUnlock))
  }

  @Test("founds nothing")
  func founding() throws {
    let vault = home.vault()
    let session = try home.sessionKey()
    #expect(try vault.recognises(session))
    #expect(refusal(vault, session) == .notFounded)
    #expect(error { try vault.unlock(session) } == .notFounded)
    #expect(home.names == ["keybag"])
  }

  @Test("leaves collections that were locked by themselves, and that have a passphrase, closed")
  func closed() throws {
    let marked: Int64
    let item: Int64
    do {
      let vault = try home.unlocked()
      marked = try vault.createCollection(label: "Marked")
      item = try vault.add(["m": "1"], "marked", .afterFirstUnlock, in: marked)
      try vault.lockCollection(marked)
    }
    let vault = home.vault()
    try vault.unlock(try home.sessionKey())
    #expect(try vault.state(of: marked) == .marked)
    #expect(error { _ = try vault.secretText(item) } == .isLocked)
    try home.unlock(vault)
    #expect(try vault.secretText(item) == "marked")
  }

  @Test("does not say how far the files are: nobody has seen that the keybag is genuine")
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
    let opened = vault()
    try opened.unlock(try home.sessionKey())
    #expect(memory.notes.count == notes)
    try home.unlock(opened)
    #expect(memory.notes.count > notes && opened.olderFiles == [])
  }

  // MARK: new keys

  @Test("opens with new keys as well, where they are through")
  func rotated() throws {
    let ids: [AccessibilityClass: Int64]
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      try home.rotate(vault)
    }
    let vault = home.vault()
    try vault.unlock(try home.sessionKey())
    try expectSessionOnly(vault, ids)
  }

  @Test("waits for the password where the keybag has new keys that the database has not")
  func begun() throws {
    let ids: [AccessibilityClass: Int64]
    do { ids = try fill(try home.unlocked()) }
    _ = try home.rotateKeybag()
    let vault = home.vault()
    let session = try home.sessionKey()
    #expect(try vault.recognises(session))
    #expect(refusal(vault, session) == .isLocked)
    #expect(error { try vault.unlock(session) } == .isLocked)
    #expect(!vault.hasKey(.afterFirstUnlock) && vault.problems == [])
    try home.unlock(vault, try home.keys())
    for (accessibility, id) in ids { #expect(try vault.secretText(id) == accessibility.name) }
  }

  @Test("opens what hangs on it while a change of keys goes on, lets go of no former keys, and calls nothing damaged")
  func underWay() throws {
    let ids: [AccessibilityClass: Int64]
    let closed: Int64
    let late: Int64
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      ids = try fill(vault)
      closed = try vault.createCollection(label: "Closed")
      late = try vault.add(["late": "1"], "late", .afterFirstUnlock, in: closed)
      try vault.lockCollection(closed)
      // The change is through, but for the collection that is locked by itself.
      let keys = try home.rotateKeybag()
      vault.refresh()
      try vault.unlock(keys.tiers, former: keys.former, opening: .everything, liftingMarks: false, mayCreate: false)
      while try vault.rotateItems() {}
      #expect(vault.neededEpoch == 1)
    }
    let vault = home.vault()
    try vault.unlock(try home.sessionKey())
    try expectSessionOnly(vault, ids)
    #expect(vault.neededEpoch == 1 && vault.problems == [])
    while try vault.rotateItems() {}
    #expect(vault.neededEpoch == 1 && home.keybagEpochs == [1, 2])
    try home.unlock(vault, try home.keys())
    #expect(try vault.secretText(late) == "late")
  }

  @Test("leaves what hangs on former keys to the password, class by class")
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
      #expect(vault.neededEpoch == 1)
    }
    #expect(home.keybagEpochs == [1, 2])
    do {
      let vault = home.vault()
      try vault.unlock(try home.sessionKey())
      try expectSessionOnly(vault, ids)
      #expect(error { _ = try vault.secretText(device) } != nil)
      #expect(vault.problems == [] && vault.neededEpoch == 1)
      // What is written into the log names the entry before it, which may hang on former keys.
      vault.log(AccessEvent(.open, .granted, label: "waits"))
      vault.writeAccessLog()
      #expect(vault.accessLog.all.count == 1 && vault.accessLog.keys.isEmpty)
      try home.unlock(vault, try home.keys())
      vault.writeAccessLog()
      #expect(try vault.accessLog(below: 0, limit: 9).entries.map(\.event?.label) == ["waits"])
    }
    let there = home.vault(on: Home.otherMachine)
    try there.unlock(try home.sessionKey())
    #expect(error { _ = try there.secretText(device) } == .isLocked)
    #expect(there.problems == [])
    #expect(try there.secretText(try #require(ids[.afterFirstUnlock])) == AccessibilityClass.afterFirstUnlock.name)
    try home.unlock(there, try home.keys())
    #expect(try there.secretText(device) == "there")
  }
}

extension Home {
  fileprivate var keybagEpochs: [UInt32] { ((try? Keybag(decoding: read("keybag")))?.epochs ?? []).map(\.number) }
}
