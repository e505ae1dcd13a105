import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// The vault gets the key that Argon2id derives from a passphrase, so these tests use arbitrary keys.
@Suite("Passphrases of collections")
struct PassphraseTests {
  let home: Home
  let vault: Vault
  let collection: Int64
  var ids: [AccessibilityClass: Int64] = [:]

  init() throws {
    home = try Home()
    vault = try home.unlocked()
    collection = try vault.collections.create(label: "Private")
    for accessibility in AccessibilityClass.allCases {
      ids[accessibility] = try vault.add(["n": accessibility.name], "s", accessibility, in: collection)
    }
  }

  func key(_ byte: UInt8) throws -> Key { try Key(copying: [UInt8](repeating: byte, count: 32).span.bytes) }

  func protect(_ byte: UInt8 = 1) throws {
    try vault.collections.setPassphrase(of: collection, key: try key(byte), .make())
  }

  func expectClosed(_ vault: Vault) throws {
    for (accessibility, id) in ids {
      #expect(try vault.isReadable(id) == false)
      #expect(throws: VaultError.isLocked) { try vault.secretText(id) }
      #expect(try vault.reader.info(ofItem: id).metadata == nil)
      #expect(try vault.ids(["n": accessibility.name]) == [id], "found all the same")
    }
    #expect(throws: VaultError.isLocked) { try vault.add(["n": "new"], "s", in: collection) }
    let keys = try vault.collections.collection(collection).classes
    #expect(keys.allSatisfy { $0.secretKey == nil && $0.metadataKey == nil && $0.privateKey == nil })
  }

  func expectOpen(_ vault: Vault) throws {
    for id in ids.values { #expect(try vault.secretText(id) == "s") }
    #expect(try vault.isReadable(try vault.add(["n": "new"], "s", in: collection)))
  }

  @Test("the login alone opens nothing; login and passphrase open everything")
  func needsBoth() throws {
    try protect()
    #expect(try vault.collections.state(of: collection) == .unlocked, "who sets it has it open")
    try expectOpen(vault)

    let copy = try Home(copying: home)
    let again = copy.vault()
    #expect(try again.collections.state(of: collection) == .sealed)
    #expect(throws: VaultError.isLocked) { try again.collections.open(collection, passphraseKey: try key(1)) }
    try expectClosed(again)
    try home.unlock(again)
    #expect(try again.collections.state(of: collection) == .needsPassphrase)
    try expectClosed(again)
    #expect(try again.collections.open(collection, passphraseKey: try key(2)) == false)
    try expectClosed(again)
    #expect(try again.collections.open(collection, passphraseKey: try key(1)))
    #expect(try again.collections.state(of: collection) == .unlocked)
    try expectOpen(again)
  }

  @Test("is a key and no rule: a row from which somebody removed the passphrase opens nothing by the login")
  func rowWithoutPassphrase() throws {
    try protect()
    var row = try vault.collections.collection(collection).row
    row.passphrase = nil
    let hostile = row
    try vault.database.writing { store throws(VaultError) in try store.update(hostile) }
    let copy = try Home(copying: home)
    let again = copy.vault()
    _ = try? copy.unlock(again)
    for id in ids.values { #expect(throws: VaultError.self) { try again.secretText(id) } }
    // Such a row is damaged, so the whole collection may be missing.
    let keys = (try? again.collections.collection(collection).classes) ?? []
    #expect(keys.allSatisfy { $0.secretKey == nil })
  }

  @Test("a lock of the collection, and the end of the session, erase the passphrase's secret")
  func locked() throws {
    try protect()
    try vault.collections.lock(collection)
    #expect(try vault.collections.state(of: collection) == .needsPassphrase)
    try expectClosed(vault)
    // No login and no screen unlock brings the secret back.
    vault.lock()
    try home.unlock(vault, liftingLocks: true)
    try expectClosed(vault)
    #expect(try vault.collections.open(collection, passphraseKey: try key(1)))
    try expectOpen(vault)
    vault.seal()
    try home.unlock(vault)
    try expectClosed(vault)
  }

  @Test("a locked screen erases the collection's tier A, and its unlock needs no passphrase")
  func lockedSession() throws {
    try protect()
    vault.lock()
    #expect(try vault.collections.state(of: collection) == .locked)
    #expect(try vault.isReadable(try #require(ids[.afterFirstUnlock])))
    #expect(try vault.isReadable(try #require(ids[.whenUnlocked])) == false)
    // A passphrase that is given behind the locked screen opens the classes that do not depend on tier A.
    try vault.collections.lock(collection)
    #expect(try vault.isReadable(try #require(ids[.always])) == false)
    #expect(try vault.collections.open(collection, passphraseKey: try key(1)))
    #expect(try vault.isReadable(try #require(ids[.always])))
    #expect(try vault.isReadable(try #require(ids[.whenUnlocked])) == false)
    try home.unlock(vault, liftingLocks: false)
    try expectOpen(vault)
  }

  @Test("a new passphrase ends the former one, and without a passphrase the login is enough")
  func changed() throws {
    try protect(1)
    try protect(2)
    try vault.collections.lock(collection)
    #expect(try vault.collections.open(collection, passphraseKey: try key(1)) == false)
    #expect(throws: VaultError.isLocked) {
      try vault.collections.setPassphrase(of: collection, key: try key(3), .make())
    }
    #expect(throws: VaultError.isLocked) { try vault.collections.removePassphrase(of: collection) }
    #expect(try vault.collections.open(collection, passphraseKey: try key(2)))
    try vault.collections.removePassphrase(of: collection)
    #expect(try vault.collections.passphraseDerivation(of: collection) == nil)
    let again = try Home(copying: home).unlocked()
    for id in ids.values { #expect(try again.secretText(id) == "s") }
  }

  @Test("a row whose passphrase was removed or exchanged opens nothing")
  func tampered() throws {
    try protect()
    let store = try vault.database.ready()
    let genuine = try vault.collections.collection(collection).row
    for forged in [nil, try otherPassphrase()] {
      var row = genuine
      row.passphrase = forged
      try store.update(row)
      let copy = try Home(copying: home)
      let other = copy.vault()
      do { try copy.unlock(other) } catch { continue }
      #expect(throws: (any Error).self) {
        guard try other.collections.open(collection, passphraseKey: try key(9)) else { throw VaultError.isLocked }
      }
      for id in ids.values { #expect(throws: (any Error).self) { try other.secretText(id) } }
    }
  }

  /// A passphrase of an attacker, with a secret of the attacker behind it.
  private func otherPassphrase() throws -> [UInt8] {
    let store = try vault.database.ready()
    return try CollectionPassphrase(
      secret: try key(8), under: try key(9), .make(), vault: store.vault,
      collection: try vault.collections.collection(collection).row.uuid
    ).encoded
  }

  /// Puts another public key into a class's row, with a tag by the login's tier key C. The login's password is enough for that.
  private func exchangePublicKey(of accessibility: AccessibilityClass, in id: Int64) throws {
    let store = try vault.database.ready()
    let open = try vault.collections.collection(id)
    let old = try #require(open.classes.first { $0.row.accessibility == accessibility }).row
    let publicKey = SealedBox.publicKey(of: try key(7))
    let tag = try #require(open.session).key.tag(
      .publicKeyTag, [store.vault, open.row.uuid, [accessibility.rawValue], old.uuid, publicKey])
    let row = ClassKeyRow(
      id: old.id, uuid: old.uuid, collection: old.collection, accessibility: old.accessibility, device: old.device,
      created: old.created, classKey: old.classKey, classKeySession: old.classKeySession, metadataKey: old.metadataKey,
      metadataKeySession: old.metadataKeySession, publicKey: publicKey, publicTag: tag, privateKey: old.privateKey)
    let statement = try store.database.statement(
      "UPDATE class_key SET public_key = ?, public_tag = ?, checksum = ? WHERE id = ?")
    try statement.bind(1, row.publicKey).bind(2, row.publicTag).bind(3, row.checksum).bind(4, row.id).run()
  }

  @Test("behind the locked screen, no item can be sealed to the key of an attacker who has only the login")
  func publicKeyOfAnother() throws {
    try protect()
    try exchangePublicKey(of: .whenUnlocked, in: collection)
    let copy = try Home(copying: home)
    let other = try copy.unlocked()
    // The collection without tier key A, and so without the private key.
    other.lock()
    #expect(throws: VaultError.self) { try other.collections.open(collection, passphraseKey: try key(1)) }
    #expect(throws: VaultError.isLocked) { try other.add(["n": "new"], "s", in: collection) }
    try copy.unlock(other)
    #expect(throws: VaultError.self) { try other.collections.open(collection, passphraseKey: try key(1)) }
  }

  @Test("a public key that does not fit the private key is detected, whoever made its tag")
  func keyPair() throws {
    try exchangePublicKey(of: .whenUnlocked, in: collection)
    let copy = try Home(copying: home)
    #expect(throws: VaultError.self) { try copy.unlocked() }
  }

  @Test("an item that is stored behind the locked screen is readable after it, with every passphrase and without one")
  func storedWhileLocked() throws {
    for change in [1, 2, nil] as [UInt8?] {
      if let change { try protect(change) } else { try vault.collections.removePassphrase(of: collection) }
      let copy = try Home(copying: home)
      let other = try copy.unlocked()
      if let change { #expect(try other.collections.open(collection, passphraseKey: try key(change))) }
      other.lock()
      let id = try other.add(["n": "new"], "new", in: collection)
      #expect(try other.isReadable(id) == false)
      try copy.unlock(other, liftingLocks: false)
      #expect(try other.secretText(id) == "new")
    }
  }

  @Test("the login's collection has no passphrase, and a column of another shape is damage")
  func refused() throws {
    #expect(throws: VaultError.self) { try vault.collections.setPassphrase(of: 1, key: try key(1), .make()) }
    try protect()
    let good = try #require(try vault.collections.collection(collection).row.passphrase)
    #expect(good.count == 133)
    for bad in [[], Array(good.dropLast()), good + [0], [2] + good.dropFirst()] {
      #expect(throws: VaultError.self) { try CollectionPassphrase(decoding: bad) }
    }
    // The vault does not even try a cost that it never writes.
    var greedy = good
    greedy[1 + 16 + 4 + 5] = 1
    #expect(throws: VaultError.self) { try CollectionPassphrase(decoding: greedy) }
  }
}
