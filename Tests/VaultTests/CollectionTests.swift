import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

@Suite("Collections")
struct CollectionTests {
  let home: Home

  init() throws { home = try Home() }

  @Test("Collections under an explicit lock reveal nothing until a login, while the others stay unlocked")
  func locked() throws {
    let vault = try home.unlocked()
    let second = try vault.collections.create(label: "Second")
    var ids: [AccessibilityClass: Int64] = [:]
    for accessibility in AccessibilityClass.allCases {
      ids[accessibility] = try vault.add(["n": accessibility.name], "s", accessibility)
    }
    let other = try vault.add(["n": "other"], "other", in: second)
    try vault.collections.lock(1)

    func expectLocked(_ vault: Vault) throws {
      #expect(try vault.collections.state(of: 1) == .lockedExplicitly)
      for (accessibility, id) in ids {
        #expect(try vault.isReadable(id) == false)
        #expect(throws: VaultError.isLocked) { try vault.secretText(id) }
        #expect(try vault.reader.info(ofItem: id).metadata == nil)
        #expect(try vault.ids(["n": accessibility.name]) == [id])
      }
      #expect(throws: VaultError.isLocked) { try vault.add(["n": "new"], "s") }
      #expect(throws: VaultError.isLocked) {
        try vault.add(["n": AccessibilityClass.always.name], "s", replacing: true)
      }
      let collection = try vault.collections.collection(1)
      #expect(collection.unlocked == nil && collection.session == nil)
      #expect(
        collection.classes.allSatisfy { $0.secretKey == nil && $0.metadataKey == nil && $0.privateKey == nil })
    }

    try expectLocked(vault)
    #expect(try vault.collections.state(of: second) == .unlocked)
    #expect(try vault.secretText(other) == "other")
    #expect(try vault.isReadable(try vault.add(["n": "more"], "more", in: second)))

    // The screen is locked and unlocked, and the explicit lock holds.
    vault.lock()
    try home.unlock(vault, liftingLocks: false)
    try expectLocked(vault)
    #expect(try vault.secretText(other) == "other")

    // A new collection does not disturb the chain, and the explicit lock is in the file.
    let third = try vault.collections.create(label: "Third")
    let late = try vault.add(["n": "late"], "late", in: third)
    try restarted(expectLocked, other: other, late: late)

    vault.seal()
    try home.unlock(vault)
    for id in ids.values { #expect(try vault.secretText(id) == "s") }
    #expect(try vault.collections.state(of: 1) == .unlocked)
    #expect(try vault.secretText(late) == "late")
  }

  /// The files in another process.
  func restarted(_ expectLocked: (Vault) throws -> Void, other: Int64, late: Int64) throws {
    let copy = try Home(copying: home)
    let vault = copy.vault()
    try expectLocked(vault)
    try copy.unlock(vault, liftingLocks: false)
    try expectLocked(vault)
    #expect(try vault.secretText(other) == "other")
    #expect(try vault.secretText(late) == "late")
    try copy.unlock(vault, liftingLocks: true)
    #expect(try vault.secretText(1) == "s")
    let again = try Home(copying: copy).unlocked()
    #expect(try again.collections.state(of: 1) == .unlocked)
  }

  @Test("a lock holds in memory even if the file cannot be written")
  func lockedWhileDamaged() throws {
    let vault = try home.unlocked()
    let id = try vault.add(["a": "1"], "s")
    vault.database.note(.damaged(.verbatim("vault.db: for the test")))
    _ = try? vault.collections.lock(1)
    #expect(try vault.collections.state(of: 1) == .lockedExplicitly)
    try home.unlock(vault, liftingLocks: false)
    #expect(throws: VaultError.isLocked) { try vault.secretText(id) }
  }

  func same(_ left: HeldKey, _ right: HeldKey) -> Bool { plain(left.key) == plain(right.key) }

  @Test("the keys left in memory lead to no key of an existing collection")
  func chain() throws {
    let vault = [UInt8](repeating: 1, count: 16)
    let tier = try Key.random()
    var chain = try KeyChain(tier: tier, vault: vault)
    let uuids = (0..<3).map { [UInt8](repeating: $0, count: 16) }
    let keys = try uuids.map { try chain.next(uuid: $0) }
    #expect(chain.ordinal == 3)
    // Later links of the chain lead to no earlier keys.
    for (number, key) in keys.enumerated() {
      var rest = chain
      for _ in 0..<4 {
        let late = try rest.next(uuid: uuids[number])
        #expect(!same(late, key))
      }
    }
    // Skipping gives the same key as walking, and another uuid gives another key.
    var second = try KeyChain(tier: tier, vault: vault)
    try second.skip()
    let walked = try second.next(uuid: uuids[1])
    #expect(same(walked, keys[1]))
    var third = try KeyChain(tier: tier, vault: [UInt8](repeating: 2, count: 16))
    let foreign = try third.next(uuid: uuids[0])
    #expect(!same(foreign, keys[0]))
  }

  @Test("Collections that were deleted leave gaps, and later ones still open")
  func holes() throws {
    var ids: [Int64: Int64] = [:]
    do {
      let vault = try home.unlocked()
      for number in 0..<5 {
        let collection = try vault.collections.create(label: "C\(number)")
        ids[collection] = try vault.add(["n": "\(number)"], "s\(collection)", in: collection)
      }
      let made = ids.keys.sorted()
      for gone in [made[0], made[2], made[4]] {
        try vault.collections.delete(gone)
        #expect(throws: VaultError.noSuchItem) { try vault.secretText(ids[gone] ?? 0) }
        ids[gone] = nil
      }
      let after = try vault.collections.create(label: "After")
      ids[after] = try vault.add(["n": "after"], "s\(after)", in: after)
    }
    do {
      let vault = try home.unlocked()
      #expect(vault.collections.ids.count == 4)
      for (collection, id) in ids { #expect(try vault.secretText(id) == "s\(collection)") }
      // The last collection is deleted, and another one is created after a restart with the same number in the chain.
      try vault.collections.delete(vault.collections.ids[3])
    }
    let last: Int64
    do {
      let vault = try home.unlocked()
      last = try vault.collections.create(label: "Again")
      try vault.add(["n": "again"], "again", in: last)
    }
    let vault = try home.unlocked()
    #expect(try vault.secretText(try #require(try vault.ids(["n": "again"]).first)) == "again")
    #expect(vault.problemTexts == [])
  }

  @Test("Collections open after a restart even if they were created when only the session's keys had been renewed")
  func chainsInStep() throws {
    do {
      let vault = try home.unlocked()
      let second = try vault.collections.create(label: "Second")
      try vault.collections.delete(second)
      try home.unlock(vault, opening: .session)
      let third = try vault.collections.create(label: "Third")
      try vault.add(["n": "1"], "third", in: third)
    }
    let vault = try home.unlocked()
    #expect(try vault.secretText(1) == "third")
  }

  @Test("Collections keep label and alias, and lose both with their items when they are deleted")
  func labels() throws {
    let second: Int64
    do {
      let vault = try home.unlocked()
      second = try vault.collections.create(label: "Zweite")
      try vault.collections.setAlias("work", to: second)
      try vault.collections.setLabel(of: second, "Arbeit")
      #expect(throws: VaultError.noSuchCollection) { try vault.collections.setAlias("work", to: 77) }
      try vault.add(["n": "1"], "s", in: second)
    }
    let vault = home.vault()
    #expect(try vault.collections.info(of: second).label == "Arbeit")
    #expect(try vault.collections.alias("work") == second)
    try vault.collections.setAlias("work", to: nil)
    #expect(try vault.collections.alias("work") == nil)
    try vault.collections.setAlias("work", to: second)
    try vault.collections.delete(second)
    #expect(try vault.collections.alias("work") == nil)
    #expect(try vault.ids(["n": "1"]) == [])
    #expect(try vault.ids([:]) == [])
    #expect(throws: VaultError.noSuchCollection) { try vault.collections.info(of: second) }
    #expect(vault.collections.ids == [1])
  }

  @Test("Collections in memory work without any file")
  func inMemory() throws {
    let vault = try Vault(inMemoryWithLabel: "Session")
    let id = try vault.add(["a": "1"], "s")
    #expect(try vault.secretText(id) == "s")
    #expect(try vault.ids(["a": "1"]) == [id])
    #expect(try vault.collections.info(of: 1).label == "Session")
    #expect(vault.problemTexts == [])
    #expect(vault.isVerified)
  }

  @Test("Collections are created together with their alias, or not at all")
  func aliasOrNothing() throws {
    let vault = try home.unlocked()
    let second = try vault.collections.create(label: "Second", alias: "work")
    #expect(try vault.collections.alias("work") == second)
    let store = try #require(vault.database.store)
    try store.database.execute("DROP TABLE alias")
    #expect(throws: VaultError.self) { try vault.collections.create(label: "Third", alias: "more") }
    #expect(vault.collections.ids == [1, second])
    #expect(try store.collections().map(\.id) == [1, second])
  }

  @Test("Collections have labels of a limited length")
  func longLabel() throws {
    let vault = try home.unlocked()
    let longest = String(repeating: "x", count: 1 << 16)
    try vault.collections.setLabel(of: 1, longest)
    #expect(throws: VaultError.tooLarge) { try vault.collections.setLabel(of: 1, longest + "x") }
    #expect(throws: VaultError.tooLarge) { try vault.collections.create(label: longest + "x") }
    #expect(try vault.collections.info(of: 1).label == longest)
    #expect(vault.collections.ids == [1])
  }

  @Test("Collections are not called empty after damage was found, because the damage may have been their items")
  func emptyAfterDamage() throws {
    let vault = try home.unlocked()
    let second = try vault.collections.create(label: "Second")
    try vault.add(["n": "1"], "one")
    #expect(try vault.reader.items(in: second) == [])
    vault.database.note(.damaged(.verbatim("vault.db: damage")))
    #expect(throws: VaultError.damaged(.verbatim("vault.db: damage"))) { try vault.reader.items(in: second) }
    #expect(try vault.reader.items(in: 1) == [1])
  }
}
