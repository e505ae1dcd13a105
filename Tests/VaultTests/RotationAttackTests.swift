import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyVault

extension ClassKeyRow {
  fileprivate func with(id: Int64? = nil, publicKey: [UInt8]? = nil) -> ClassKeyRow {
    ClassKeyRow(
      id: id ?? self.id, uuid: uuid, collection: collection, accessibility: accessibility, device: device,
      created: created, classKey: classKey, classKeySession: classKeySession, metadataKey: metadataKey,
      metadataKeySession: metadataKeySession, publicKey: publicKey ?? self.publicKey, publicTag: publicTag,
      privateKey: privateKey)
  }
}

extension Home {
  /// Changes the database as an attacker does who can write it and knows its format.
  fileprivate func edit(_ body: (Store) throws(VaultError) -> Void) throws {
    let store = try Store(path: folder + "/vault.db", vault: keybag.vault)
    try body(store)
    try store.emptyLog()
  }
}

/// A change of keys under attack by somebody who has the former keys and can write the files.
@Suite("New keys under attack")
struct RotationAttackTests {
  let home: Home

  init() throws { home = try Home() }

  @Test(
    "New keys do not convert a class that depends on former keys: a holder of those could have put it back",
    arguments: [(.whenUnlocked, false), (.afterFirstUnlock, false), (.afterFirstUnlock, true)]
      as [(AccessibilityClass, Bool)])
  func plantedClass(_ accessibility: AccessibilityClass, withoutNewest: Bool) throws {
    let known: [UInt8]
    let planted: ClassKeyRow
    let id: Int64
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      id = try vault.add(["n": "early"], "early", accessibility)
      let key = try #require(try vault.collections.collection(1).current(accessibility, share: vault.keys.share))
      known = try #require(key.secretKey).key.tag(.classWrap)
      planted = key.row
      try home.unlock(vault, try home.rotateKeybag())
      while try vault.rotation.step() {}
      vault.settle()
    }
    // The keybag still has the former tier keys, as while another device or a locked collection needs them.
    try home.edit { store throws(VaultError) in
      try store.insert(planted.with(id: try store.nextID(.classKey)))
      // The epoch's number shows which classes are from before.
      for key in try store.classKeys() where withoutNewest && key.accessibility == .whenUnlocked {
        try store.deleteClassKey(key.id)
      }
      var collection = try store.collections()[0]
      collection.epoch = 1
      try store.update(collection)
    }
    let vault = try home.reopened()
    while try vault.rotation.step() {}
    #expect(try vault.secretText(id) == "early")
    let late = try vault.add(["n": "late"], "late", accessibility)
    let row = try #require(try vault.database.store?.item(late))
    let used = try #require(try vault.collections.collection(1).classes.first { $0.row.id == row.classKey })
    let key = try #require(used.secretKey).key.tag(.classWrap)
    #expect(used.row.uuid != planted.uuid && key != known)
    #expect(vault.rotation.neededEpoch == 2)
  }

  @Test("New keys accept no public key that only former keys vouch for")
  func plantedPublicKey() throws {
    let keys: Rotated
    do {
      let vault = try home.unlocked()
      vault.verifyToEnd()
      keys = try home.rotateKeybag()
      try home.unlock(vault, keys)
      vault.settle()
    }
    let vaultID = home.keybag.vault
    try home.edit { store throws(VaultError) in
      do {
        let collection = try store.collections()[0]
        var chain = try KeyChain(tier: keys.former[0].tiers.session, vault: vaultID)
        let session = try chain.next(uuid: collection.uuid)
        let row = try #require(try store.classKeys().last { $0.accessibility == .whenUnlocked })
        let publicKey = SealedBox.publicKey(of: try .random())
        let tag = try session.key.tag(
          .publicKeyTag, [vaultID, collection.uuid, [row.accessibility.rawValue], row.uuid, publicKey])
        var next = row.with(publicKey: publicKey)
        next.publicTag = tag
        try store.deleteClassKey(row.id)
        try store.insert(next)
        var behind = collection
        behind.epoch = 1
        try store.update(behind)
      } catch let error as VaultError { throw error } catch { Issue.record(error) }
    }
    // Behind the locked screen no other check would find the forged key, and new items would be sealed to it.
    let vault = home.vault()
    #expect(throws: VaultError.self) { try home.unlock(vault, try home.keys(), opening: .session) }
  }

  @Test("New keys bring back nothing that depended on an erased secret")
  func erasedMeanwhile() throws {
    let service = StandInDevice(seed: 3)
    func vault() -> Vault {
      Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in service }
    }
    let doomed: Int64
    let other: Int64
    do {
      let vault = vault()
      try home.unlock(vault)
      vault.verifyToEnd()
      doomed = try vault.add(["n": "doomed"], "doomed", .whenPasscodeSetThisDeviceOnly)
      other = try vault.add(["n": "other"], "other", .whenUnlockedThisDeviceOnly)
      // The test erases the secret as 'latchkey device erase' does, next to the daemon.
      try service.eraseErasable(in: try KeybagFile.folder(home: home.path, owner: getuid()))
      try home.rotate(vault)
      #expect(throws: VaultError.noSuchItem) { try vault.secretText(doomed) }
      #expect(try vault.secretText(try vault.add(["n": "new"], "new", .whenPasscodeSetThisDeviceOnly)) == "new")
    }
    let again = vault()
    try home.unlock(again, try home.keys())
    #expect(try again.secretText(other) == "other")
    #expect(throws: VaultError.noSuchItem) { try again.secretText(doomed) }
    #expect(try again.secretText(try again.ids(["n": "new"])[0]) == "new")
    #expect(again.problemTexts == [])
  }
}
