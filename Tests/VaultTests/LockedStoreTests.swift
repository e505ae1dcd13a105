import Glibc
import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("While the screen is locked")
struct LockedStoreTests {
  let home: Home

  init() throws { home = try Home() }

  @Test("an item that cannot be read is neither read nor replaced, and its old secret stays")
  func neverReplaced() throws {
    let vault = try home.unlocked()
    let id = try vault.add(["key": "chromium"], "the old key")
    vault.lock()
    #expect(throws: VaultError.isLocked) { try vault.secretText(id) }
    #expect(throws: VaultError.isLocked) {
      try vault.add(["key": "chromium"], "a new key", replacing: true)
    }
    #expect(throws: VaultError.isLocked) {
      try vault.add(["key": "chromium"], "a new key", .always, replacing: true)
    }
    #expect(throws: VaultError.isLocked) { try vault.set(id, "a new key") }
    #expect(try vault.reader.itemCount() == 1)
    try home.unlock(vault, liftingLocks: false)
    #expect(try vault.secretText(id) == "the old key")
  }

  @Test(
    "new items are stored, locked, and readable after the unlock, even in another process",
    arguments: [AccessibilityClass.whenUnlocked, .whenUnlockedThisDeviceOnly])
  func stored(_ accessibility: AccessibilityClass) throws {
    let old: Int64
    let new: Int64
    do {
      let vault = try home.unlocked()
      old = try vault.add(["n": "old"], "old", accessibility)
      vault.lock()
      new = try vault.add(["n": "new"], "new", accessibility)
      #expect(try vault.isReadable(new) == false)
      #expect(throws: VaultError.isLocked) { try vault.secretText(new) }
      // A second store does not replace even the item that was just stored, because the vault cannot read it.
      #expect(throws: VaultError.isLocked) { try vault.add(["n": "new"], "newer", replacing: true) }
      #expect(throws: VaultError.isLocked) { try vault.writer.update(item: new) { $0.label = "renamed" } }
      #expect(try forms() == [old: 0, new: 1])
    }
    let vault = try home.unlocked()
    #expect(try vault.secretText(old) == "old")
    #expect(try vault.secretText(new) == "new")
    // The tag covers the label, so another label needs a new tag.
    try vault.writer.update(item: new) { $0.label = "renamed" }
    #expect(try forms() == [old: 0, new: 1])
    #expect(try vault.reader.info(ofItem: new).metadata?.label == "renamed")
    #expect(try vault.writer.rewrapStoredWhileLocked() == false)
    #expect(try vault.secretText(new) == "new")
    #expect(vault.problemTexts == [])
    vault.verifyToEnd()
    #expect(!vault.isDamaged)
    #expect(try forms() == [old: 0, new: 0])
  }

  /// The form of each item in the file. The file is opened read-only, despite the daemon's lock, and with its log.
  func forms() throws -> [Int64: Int64] {
    let copy = try Home(copying: home)
    let database = try Database(path: copy.folder + "/vault.db", mode: .existing)
    let statement = try database.statement("SELECT id, form FROM item")
    var forms: [Int64: Int64] = [:]
    while try statement.step() { forms[statement.integer(0)] = statement.integer(1) }
    statement.reset()
    return forms
  }

  /// Changes the database behind the vault's back, with fitting check sums, as an attacker would.
  func tamper(_ id: Int64, _ change: (inout ItemRow) -> Void) throws {
    let store = try Store(path: home.folder + "/vault.db", vault: home.keybag.vault)
    var row = try #require(try store.item(id))
    change(&row)
    try store.transaction { () throws(VaultError) in try store.update(row) }
  }

  @Test("Behind a locked screen, the vault opens nothing of a waiting item, so it finds no damage.")
  func waiting() throws {
    let vault = try home.unlocked()
    vault.lock()
    let id = try vault.add(["n": "new"], "new", .whenUnlocked)
    try vault.database.writing { store throws(VaultError) in
      guard var row = try store.item(id) else { throw .noSuchItem }
      row.metadata[30] ^= 1
      try store.update(row)
    }
    #expect(try vault.writer.rewrapStoredWhileLocked() == false)
    #expect(!vault.isDamaged)
  }

  @Test(
    "a waiting item that was altered is quarantined and never opened",
    arguments: ["tag", "no tag", "secret", "key", "metadata"])
  func quarantine(_ part: String) throws {
    let good: Int64
    let bad: Int64
    do {
      let vault = try home.unlocked()
      vault.lock()
      good = try vault.add(["n": "good"], "good")
      bad = try vault.add(["n": "bad"], "bad")
    }
    try tamper(bad) { row in
      switch part {
      case "tag": row.lockedTag?[3] ^= 1
      case "no tag": row.lockedTag = nil
      case "secret": row.secret[row.secret.count - 1] ^= 1
      case "key": row.itemKey[40] ^= 1
      default: row.metadata[30] ^= 1
      }
    }
    let vault = try home.unlocked()
    #expect(try vault.secretText(good) == "good")
    if part == "metadata" {
      #expect(throws: VaultError.self) { try vault.secretText(bad) }
      return
    }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.secretText(bad) }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.set(bad, "over it") }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.add(["n": "bad"], "over it", replacing: true) }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.writer.update(item: bad) { $0.label = "mine" } }
    #expect(try vault.writer.rewrapStoredWhileLocked() == false)
    #expect(try forms() == [good: 0, bad: 2])
    #expect(try vault.secretText(good) == "good")
    #expect(try vault.isReadable(bad) == false)
    #expect(throws: VaultError.foreignItem(bad)) { try vault.secretText(bad) }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.set(bad, "over it") }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.add(["n": "bad"], "over it", replacing: true) }
    #expect(throws: VaultError.foreignItem(bad)) { try vault.writer.update(item: bad, accessibility: .always) { _ in } }
    // The bad item does not hold up the others.
    #expect(try vault.add(["n": "next"], Array("next".utf8)).isNew)
    try vault.writer.deleteItem(bad)
    #expect(try vault.ids(["n": "bad"]) == [])
  }

  @Test("an item that an attacker seals to the public key is not opened")
  func forged() throws {
    let victim: Int64
    do {
      let vault = try home.unlocked()
      vault.lock()
      victim = try vault.add(["n": "1"], "mine")
    }
    // The attacker knows the public key and every column, but not tier key C.
    do {
      let store = try Store(path: home.folder + "/vault.db", vault: home.keybag.vault)
      let keys = try store.classKeys()
      let row = try #require(try store.item(victim))
      let publicKey = try #require(keys.first { $0.id == row.classKey }?.publicKey)
      var forged = row
      forged.itemKey = try SealedBox.seal([UInt8](repeating: 5, count: 32).span.bytes, to: publicKey)
      try store.transaction { () throws(VaultError) in try store.update(forged) }
    }
    let vault = try home.unlocked()
    #expect(throws: VaultError.foreignItem(victim)) { try vault.secretText(victim) }
  }

  @Test("a public key that is not this vault's is noticed before anything is sealed to it")
  func foreignPublicKey() throws {
    do { _ = try home.unlocked() }
    let attacker = try Key.random()
    do {
      let store = try Store(path: home.folder + "/vault.db", vault: home.keybag.vault)
      for row in try store.classKeys() where row.publicKey != nil {
        let swapped = ClassKeyRow(
          id: row.id, uuid: row.uuid, collection: row.collection, accessibility: row.accessibility, device: row.device,
          created: row.created, classKey: row.classKey, classKeySession: row.classKeySession,
          metadataKey: row.metadataKey, metadataKeySession: row.metadataKeySession,
          publicKey: SealedBox.publicKey(of: attacker), publicTag: row.publicTag, privateKey: row.privateKey)
        try store.database.statement("UPDATE class_key SET public_key = ?, checksum = ? WHERE id = ?")
          .bind(1, swapped.publicKey).bind(2, swapped.checksum).bind(3, row.id).run()
      }
    }
    let vault = home.vault()
    #expect(throws: VaultError.self) { try home.unlock(vault, opening: .session) }
    #expect(throws: VaultError.self) { try vault.add(["a": "1"], "s") }
  }

  @Test("more items than one batch are all wrapped again, even behind items that must wait")
  func batches() throws {
    let vault = try home.unlocked()
    let second = try vault.collections.create(label: "Second")
    vault.lock()
    // Twenty items of a locked collection come first, and do not delay the other items.
    let waiting = try (0..<20).map { try vault.add(["w": "\($0)"], "w\($0)") }
    let ids = try (0..<40).map { try vault.add(["n": "\($0)"], "s\($0)", in: second) }
    try vault.collections.lock(1)
    try home.unlock(vault, liftingLocks: false)
    var rounds = 0
    while try vault.writer.rewrapStoredWhileLocked() {
      rounds += 1
      try #require(rounds < 20)
    }
    let forms = try forms()
    #expect(ids.allSatisfy { forms[$0] == 0 })
    #expect(waiting.allSatisfy { forms[$0] == 1 })
    for (number, id) in ids.enumerated() { #expect(try vault.secretText(id) == "s\(number)") }
    try home.unlock(vault)
    while try vault.writer.rewrapStoredWhileLocked() {}
    #expect(try self.forms().values.allSatisfy { $0 == 0 })
  }
}
