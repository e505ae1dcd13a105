import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// Items that require something besides their keys. The vault gets the key that Argon2id derives from a passphrase, so these tests
/// use arbitrary keys.
@Suite("Access control of items")
struct AccessTests {
  let home: Home
  let vault: Vault

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  func key(_ byte: UInt8) throws -> Key { try Key(copying: [UInt8](repeating: byte, count: 32).span.bytes) }

  static let presence = 0x1 as UInt32
  static let passphrase = 0x8000_0000 as UInt32

  @discardableResult
  func add(
    _ name: String, _ secret: String = "secret", flags: UInt32, passphrase byte: UInt8? = nil,
    _ accessibility: AccessibilityClass? = nil, to vault: Vault? = nil, granted: AccessGrant? = nil
  ) throws -> Int64 {
    let bytes = try SecureBytes(copying: Array(secret.utf8).span.bytes)
    let passphrase: NewItemPassphrase? = if let byte { NewItemPassphrase(.make(), key: try key(byte)) } else { nil }
    let metadata = ItemMetadata(label: name, attributes: ["n": name], contentType: "text/plain", flags: flags)
    let vault = vault ?? self.vault
    return try vault.writer.createItem(
      in: vault.collections.ids[0], metadata, secret: bytes, accessibility: accessibility, replacing: true,
      passphrase: passphrase, granted: { $0 == granted?.item ? granted : nil }
    ).id
  }

  func grant(_ id: Int64, _ byte: UInt8? = nil, of vault: Vault? = nil) throws -> AccessGrant? {
    let key: Key? = if let byte { try self.key(byte) } else { nil }
    return try (vault ?? self.vault).reader.grant(item: id, passphraseKey: key)
  }

  func read(_ id: Int64, _ granted: AccessGrant? = nil, of vault: Vault? = nil) throws -> String {
    let opened = try (vault ?? self.vault).reader.secret(ofItem: id, granted: granted)
    return String(decoding: plain(opened.secret), as: UTF8.self)
  }

  @Test("an item with a requirement is found, but its secret is not revealed", arguments: AccessibilityClass.allCases)
  func conditions(_ accessibility: AccessibilityClass) throws {
    let id = try add("a", flags: AccessTests.presence, accessibility)
    let copy = try Home(copying: home)
    for vault in [vault, try copy.unlocked()] {
      #expect(try vault.reader.search(.attributes(["n": "a"])).map(\.readability) == [.guarded])
      #expect(try vault.reader.readability(ofItem: id) == .guarded)
      let info = try vault.reader.info(ofItem: id)
      #expect(info.readability == .guarded && info.metadata?.label == "a")
      #expect(info.access?.conditions == [.userPresence])
      #expect(throws: VaultError.needsGrant) { try read(id, of: vault) }
      #expect(try vault.reader.secretIfReadable(ofItem: id, in: vault.collections.ids[0]) == nil)
      #expect(try read(id, try grant(id, of: vault), of: vault) == "secret")
    }
  }

  @Test("a passphrase is a key: without it nothing opens", arguments: AccessibilityClass.allCases)
  func passphrases(_ accessibility: AccessibilityClass) throws {
    let id = try add("a", flags: AccessTests.passphrase, passphrase: 1, accessibility)
    let other = try add("b", flags: AccessTests.passphrase, passphrase: 1, accessibility)
    let copy = try Home(copying: home)
    for vault in [vault, try copy.unlocked()] {
      #expect(try vault.reader.passphraseDerivation(ofItem: id) != nil)
      #expect(throws: VaultError.needsGrant) { try read(id, of: vault) }
      #expect(throws: VaultError.needsGrant) { try grant(id, of: vault) }
      #expect(try grant(id, 2, of: vault) == nil)
      #expect(try read(id, try grant(id, 1, of: vault), of: vault) == "secret")
      // A grant for one item opens no other item.
      #expect(throws: VaultError.needsGrant) { try read(other, try grant(id, 1, of: vault), of: vault) }
    }
    // Even a caller that skips the vault's checks gets nothing with the right class key and a wrong passphrase.
    let item = try vault.reader.locate(id)
    let opened = try #require(try vault.reader.metadata(item))
    let wrong = HeldKey(try key(2))
    #expect(throws: VaultError.self) { try vault.reader.openSecret(item, opened, passphraseKey: wrong).count }
  }

  @Test("a locked class is reported before any question")
  func locked() throws {
    let id = try add("a", flags: AccessTests.passphrase, passphrase: 1)
    let granted = try grant(id, 1)
    vault.lock()
    #expect(try vault.reader.readability(ofItem: id) == .locked)
    #expect(throws: VaultError.isLocked) { try read(id, granted) }
    #expect(throws: VaultError.isLocked) { try read(id) }
    try home.unlock(vault)
    #expect(try read(id, granted) == "secret")
  }

  @Test("an item with a requirement can be stored behind the locked screen, and opens after the unlock")
  func storedWhileLocked() throws {
    vault.lock()
    let guarded = try add("a", flags: AccessTests.presence)
    let sealed = try add("b", flags: AccessTests.passphrase, passphrase: 1)
    try home.unlock(vault)
    for _ in 0..<2 {
      #expect(try read(guarded, try grant(guarded)) == "secret")
      #expect(try read(sealed, try grant(sealed, 1)) == "secret")
      #expect(try grant(sealed, 2) == nil)
      while try vault.writer.rewrapStoredWhileLocked() {}
    }
    #expect(try vault.reader.locate(sealed).row.form == .wrapped)
  }

  @Test("nothing is written over or weakened without what it asks for")
  func weakened() throws {
    let id = try add("a", flags: AccessTests.presence | AccessTests.passphrase, passphrase: 1)
    let before = try #require(try vault.database.store?.item(id))
    let secret = try SecureBytes(copying: [1].span.bytes)
    #expect(throws: VaultError.needsGrant) { try add("a", "new", flags: 0) }
    #expect(throws: VaultError.needsGrant) { try add("a", "new", flags: AccessTests.passphrase, passphrase: 2) }
    #expect(throws: VaultError.needsGrant) { try vault.writer.setSecret(ofItem: id, secret, contentType: "") }
    #expect(throws: VaultError.needsGrant) { try vault.writer.setAccess(ofItem: id, .none) }
    #expect(throws: VaultError.needsGrant) { try vault.writer.update(item: id, accessibility: .always) { _ in } }
    #expect(try vault.database.store?.item(id)?.content == before.content)
    // The question to the person names the item by its label.
    #expect(throws: VaultError.needsGrant) { try vault.writer.update(item: id) { $0.label = "other" } }
    #expect(try vault.database.store?.item(id)?.content == before.content)
    try vault.writer.update(item: id, granted: try grant(id, 1)) { $0.label = "other" }
    #expect(try vault.reader.info(ofItem: id).metadata?.label == "other")
    #expect(try read(id, try grant(id, 1)) == "secret")
    try vault.writer.deleteItem(id)
    #expect(try vault.reader.search(.attributes(["n": "a"])).isEmpty)
  }

  @Test("after its requirement is met, an item gets another secret, class or passphrase, or loses the passphrase")
  func changed() throws {
    let both = AccessTests.presence | AccessTests.passphrase
    let id = try add("a", flags: both, passphrase: 1)
    #expect(try add("a", "second", flags: 0, granted: try grant(id, 1)) == id)
    #expect(try read(id, try grant(id, 1)) == "second", "flags and passphrase stay")
    let secret = try SecureBytes(copying: Array("third".utf8).span.bytes)
    try vault.writer.setSecret(ofItem: id, secret, contentType: "text/plain", granted: try grant(id, 1))
    #expect(try read(id, try grant(id, 1)) == "third")
    // Another class needs its own question, and so do other flags.
    #expect(throws: VaultError.keepsItsAccess) {
      try vault.writer.update(item: id, accessibility: .afterFirstUnlock, granted: try grant(id, 1)) { _ in }
    }
    #expect(throws: VaultError.keepsItsAccess) {
      try add("a", "weaker", flags: AccessTests.presence, granted: try grant(id, 1))
    }
    try vault.writer.setAccess(
      ofItem: id, try AccessControl(rawValue: both), accessibility: .afterFirstUnlock, granted: try grant(id, 1))
    #expect(try read(id, try grant(id, 1)) == "third")
    #expect(try vault.reader.info(ofItem: id).accessibility == .afterFirstUnlock)
    try vault.writer.setAccess(
      ofItem: id, try AccessControl(rawValue: both), passphrase: NewItemPassphrase(.make(), key: try key(2)),
      granted: try grant(id, 1))
    #expect(try grant(id, 1) == nil)
    #expect(try read(id, try grant(id, 2)) == "third")
    try vault.writer.setAccess(ofItem: id, try AccessControl(rawValue: AccessTests.presence), granted: try grant(id, 2))
    #expect(try vault.reader.passphraseDerivation(ofItem: id) == nil)
    #expect(try read(id, try grant(id)) == "third")
    // The item has no passphrase now, so the change cannot keep a passphrase.
    #expect(throws: VaultError.needsGrant) {
      try vault.writer.setAccess(ofItem: id, try AccessControl(rawValue: both), granted: try grant(id))
    }
    try vault.writer.setAccess(ofItem: id, .none, granted: try grant(id))
    #expect(try read(id) == "third" && vault.reader.readability(ofItem: id) == .open)
    let copy = try Home(copying: home)
    #expect(try read(id, of: try copy.unlocked()) == "third")
  }

  @Test("nothing is stored with flags that contradict each other, or without the passphrase that the flags need")
  func refused() throws {
    #expect(throws: VaultError.badAccessControl(.bothBiometries)) { try add("a", flags: 0xA) }
    #expect(throws: VaultError.needsGrant) { try add("a", flags: AccessTests.passphrase) }
    #expect(try vault.reader.itemCount() == 0)
  }

  @Test("a change of keys needs no passphrase, and keeps every passphrase")
  func rotated() throws {
    let id = try add("a", flags: AccessTests.passphrase, passphrase: 1)
    let before = try #require(try vault.database.store?.item(id))
    let keybag = try Home.open(home.keybag)
    let password = Home.password
    let next = try keybag.rotated(password: password.span.bytes, cost: PasswordCost(passes: 3, memory: 32 << 20))
    home.write(KeybagFile.name, next.keybag.encoded)
    try vault.unlock(
      try next.tiers(), former: try next.formerTiers(), opening: .everything, liftingLocks: false, mayCreate: false)
    while try vault.rotation.step() {}
    let after = try #require(try vault.database.store?.item(id))
    #expect(before.itemKey != after.itemKey && before.classKey != after.classKey && before.access == after.access)
    #expect(try read(id, try grant(id, 1)) == "secret")
    #expect(try grant(id, 2) == nil)
  }

  @Test("a row with fewer or other requirements than the sealed ones is damage, not a way in")
  func tampered() throws {
    let guarded = try add("a", flags: AccessTests.presence)
    let sealed = try add("b", flags: AccessTests.passphrase, passphrase: 1)
    let free = try add("c", flags: 0)
    vault.settleWhole()
    let original = try [guarded, sealed, free].map { try #require(try vault.database.store?.item($0)) }
    func expectNothing(_ change: (inout ItemRow) -> Void, of index: Int) throws {
      var row = original[index]
      change(&row)
      let copy = try Home(copying: home)
      do {
        let other = try copy.unlocked()
        try other.database.writing { store throws(VaultError) in try store.update(row) }
      }
      let again = try copy.unlocked()
      let found = Result { () throws -> String in
        let id = row.id
        let granted = try grant(id, row.access?.count ?? 0 > 2 ? 1 : nil, of: again)
        return try read(id, granted, of: again)
      }
      #expect(throws: VaultError.self) { try found.get() }
      #expect(throws: VaultError.self) { try read(row.id, of: again) }
    }
    try expectNothing({ $0.access = nil }, of: 0)
    try expectNothing({ $0.access = nil }, of: 1)
    try expectNothing({ $0.access = ItemAccess.conditions.encoded }, of: 1)
    try expectNothing({ $0.access = ItemAccess.conditions.encoded }, of: 2)
    try expectNothing({ $0.access = original[1].access }, of: 0)
    try expectNothing({ $0.access = original[1].access }, of: 2)
    for end in [0, 1, 2, 29] {
      try expectNothing({ $0.access = Array(original[1].access?.prefix(end) ?? []) }, of: 1)
    }
    try expectNothing({ $0.access?.append(0) }, of: 1)
    for place in 0..<(original[1].access?.count ?? 0) { try expectNothing({ $0.access?[place] ^= 1 }, of: 1) }
  }

  @Test("a grant for an item is worthless once the item has changed")
  func stale() throws {
    let secret = try SecureBytes(copying: Array("written".utf8).span.bytes)
    let both = try AccessControl(rawValue: AccessTests.presence | AccessTests.passphrase)
    let changes: [(Int64) throws -> Void] = [
      { id in try vault.writer.setSecret(ofItem: id, secret, contentType: "", granted: try grant(id, 1)) },
      { id in
        let new = NewItemPassphrase(.make(), key: try key(2))
        try vault.writer.setAccess(ofItem: id, both, passphrase: new, granted: try grant(id, 1))
      },
      { id in
        try vault.writer.setAccess(
          ofItem: id, try AccessControl(rawValue: AccessTests.presence), granted: try grant(id, 1))
      },
      { id in try vault.writer.setAccess(ofItem: id, .none, granted: try grant(id, 1)) },
    ]
    for (number, change) in changes.enumerated() {
      let id = try add("n\(number)", flags: both.rawValue, passphrase: 1)
      let stale = try #require(try grant(id, 1))
      try change(id)
      let row = try #require(try vault.database.store?.item(id))
      if row.access != nil {
        #expect(throws: VaultError.needsGrant) { try read(id, stale) }
        #expect(throws: VaultError.needsGrant) {
          try vault.writer.setSecret(ofItem: id, secret, contentType: "", granted: stale)
        }
        #expect(throws: VaultError.needsGrant) { try add("n\(number)", "x", flags: 0, granted: stale) }
        #expect(throws: VaultError.needsGrant) { try vault.writer.setAccess(ofItem: id, .none, granted: stale) }
        #expect(try vault.database.store?.item(id)?.content == row.content)
      }
      #expect(!vault.isDamaged)
    }
    // The reverse case: a grant from before the item had a passphrase.
    let id = try add("later", flags: AccessTests.presence)
    let stale = try #require(try grant(id))
    try vault.writer.setAccess(
      ofItem: id, both, passphrase: NewItemPassphrase(.make(), key: try key(1)), granted: try grant(id))
    #expect(throws: VaultError.needsGrant) {
      try vault.writer.setSecret(ofItem: id, secret, contentType: "", granted: stale)
    }
    #expect(try read(id, try grant(id, 1)) == "secret")
  }

  @Test("a wrong passphrase is not reported as damage")
  func wrong() throws {
    let id = try add("a", flags: AccessTests.passphrase, passphrase: 1)
    for byte in 2...9 { #expect(try grant(id, UInt8(byte)) == nil) }
    #expect(!vault.isDamaged && vault.problemTexts.isEmpty)
    try add("b", flags: 0)
    #expect(try read(id, try grant(id, 1)) == "secret")
  }

  @Test("two items with the same passphrase have two different keys")
  func salts() throws {
    let ids = try ["a", "b"].map { try add($0, flags: AccessTests.passphrase, passphrase: 1) }
    let columns = try ids.map { try #require(try vault.database.store?.item($0)?.access) }
    #expect(columns[0].count == 30 && columns[0].prefix(2) == columns[1].prefix(2))
    #expect(columns[0].dropFirst(2).prefix(16) != columns[1].dropFirst(2).prefix(16))
  }
}
