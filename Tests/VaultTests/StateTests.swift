import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// The state of the vault.
enum Openness: String, CaseIterable, Sendable {
  /// The daemon has just started.
  case sealed
  /// The session has ended.
  case sealedAgain
  case unlocked
  /// The screen was locked.
  case locked
  /// The vault got only tier key C.
  case sessionOnly
}

/// The keys of each state, from the design's table and not from the code.
private struct Expected {
  let readable: Bool
  let metadata: Bool
  let acceptsNew: Bool

  init(_ accessibility: AccessibilityClass, _ state: Openness) {
    let unlocked = state == .unlocked
    let session = unlocked || state == .locked || state == .sessionOnly
    switch accessibility {
    case .whenUnlocked, .whenUnlockedThisDeviceOnly: (readable, metadata, acceptsNew) = (unlocked, session, session)
    case .whenPasscodeSetThisDeviceOnly: (readable, metadata, acceptsNew) = (unlocked, unlocked, unlocked)
    case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly:
      (readable, metadata, acceptsNew) = (session, session, session)
    case .always, .alwaysThisDeviceOnly: (readable, metadata, acceptsNew) = (true, true, true)
    }
  }
}

@Suite("The table of classes and states")
struct StateTests {
  let home: Home

  init() throws { home = try Home() }

  func vault(_ state: Openness) throws -> Vault {
    let vault = home.vault()
    switch state {
    case .sealed: break
    case .sealedAgain:
      try home.unlock(vault)
      vault.seal()
    case .unlocked: try home.unlock(vault)
    case .locked:
      try home.unlock(vault)
      vault.lock()
    case .sessionOnly: try home.unlock(vault, opening: .session)
    }
    return vault
  }

  /// Runs `body` and compares its error with the expected one; nil means success.
  func outcome(_ what: String, _ expected: VaultError?, _ body: () throws -> Void) {
    var error: VaultError?
    do { try body() } catch let thrown as VaultError { error = thrown } catch {
      Issue.record("\(what): \(error)")
      return
    }
    #expect(error == expected, "\(what)")
  }

  @Test("holds", arguments: AccessibilityClass.allCases, Openness.allCases)
  func holds(_ accessibility: AccessibilityClass, _ state: Openness) throws {
    let id: Int64
    let spare: Int64
    do {
      let first = try home.unlocked()
      id = try first.add(["name": "kept", "shared": "yes"], "secret", accessibility, label: "Kept")
      spare = try first.add(["name": "spare", "shared": "yes"], "spare", accessibility)
    }
    let vault = try vault(state)
    let expected = Expected(accessibility, state)
    let locked: VaultError? = expected.readable ? nil : .isLocked

    #expect(vault.hasKey(accessibility) == expected.readable)
    #expect(try vault.isReadable(id) == expected.readable)
    outcome("read", locked) {
      let secret = try vault.secretText(id)
      #expect(secret == "secret")
    }
    let info = try vault.reader.info(ofItem: id)
    #expect(info.accessibility == accessibility && info.isReadable == expected.readable)
    #expect((info.metadata != nil) == expected.metadata)

    // The item is found in every state, and called locked if it is.
    func finds(_ terms: SearchTerms, _ ids: [Int64]) throws -> Bool {
      let found = try vault.reader.search(terms)
      return found.map(\.id).sorted() == ids && found.allSatisfy { $0.isReadable == expected.readable }
    }
    #expect(try finds(.attributes(["shared": "yes"]), [id, spare]))
    #expect(try finds(.attributes(["name": "kept"]), [id]))
    #expect(try finds(.attributes([:]), [id, spare]))
    #expect(try finds(.accessibility(accessibility), [id, spare]))
    #expect(try vault.reader.items(in: 1) == [id, spare])

    outcome("replace", locked) {
      let replaced = try vault.add(
        ["name": "kept", "shared": "yes"], Array("secret".utf8), label: "Kept", replacing: true)
      #expect(replaced == (id, false))
    }
    outcome("replace in another class", locked) {
      _ = try vault.add(["name": "spare", "shared": "yes"], Array("x".utf8), .always, replacing: true)
    }
    outcome("set the secret", locked) { try vault.set(id, "secret") }
    outcome("change the label", locked) {
      try vault.writer.update(item: id) { $0.label = "Changed" }
    }
    outcome("delete, as a client", locked) { try vault.writer.checkMayChange(item: id) }
    outcome("delete its collection, as a client", state == .unlocked ? nil : .isLocked) {
      try vault.collections.checkMayChange(1)
    }
    outcome("change the class", accessibility == .always ? nil : locked) {
      try vault.writer.update(item: spare, accessibility: .always) { _ in }
    }
    var new: Int64?
    outcome("add", expected.acceptsNew ? nil : .isLocked) {
      new = try vault.add(["name": "new"], "new", accessibility)
    }
    if let new {
      outcome("read the new one", locked) {
        let secret = try vault.secretText(new)
        #expect(secret == "new")
      }
      #expect(try vault.isReadable(new) == expected.readable)
    }
    outcome("make a collection", state == .unlocked ? nil : .isLocked) { _ = try vault.collections.create(label: "C") }

    // A refused call changed nothing, and every stored item is there.
    try home.unlock(vault)
    #expect(try vault.secretText(id) == "secret")
    #expect(try vault.secretText(spare) == (expected.readable ? "x" : "spare"))
    #expect(try vault.reader.info(ofItem: id).metadata?.label == (expected.readable ? "Changed" : "Kept"))
    if let new {
      let secret = try vault.secretText(new)
      #expect(secret == "new")
    }
    vault.seal()
    try vault.writer.deleteItem(id)
    #expect(try vault.ids(["name": "kept"]) == [])
    #expect(vault.problemTexts == [])
  }

  @Test("The table of collections says whether they are locked", arguments: Openness.allCases)
  func collections(_ state: Openness) throws {
    do { _ = try home.unlocked() }
    let vault = try vault(state)
    let expected: CollectionState =
      switch state {
      case .sealed, .sealedAgain: .sealed
      case .unlocked: .unlocked
      case .locked, .sessionOnly: .locked
      }
    #expect(try vault.collections.state(of: 1) == expected)
    #expect(try vault.collections.info(of: 1).label == "Login")
    #expect(try vault.collections.alias("default") == 1 && vault.collections.alias("login") == 1)
    #expect(try vault.collections.alias("nothing") == nil)
  }

  @Test("The vault does not open with another vault's keys")
  func otherKeys() throws {
    do {
      let vault = try home.unlocked()
      try vault.add(["a": "1"], "s")
    }
    let vault = home.vault()
    let stranger = try TierKeys.random()
    #expect(try vault.recognises(stranger) == false)
    #expect(try vault.recognises(home.tiers))
    #expect(throws: VaultError.self) {
      try vault.unlock(stranger, opening: .everything, liftingLocks: true, mayCreate: true)
    }
    for accessibility in AccessibilityClass.allCases where accessibility.tier != .device {
      #expect(!vault.hasKey(accessibility))
    }
    #expect(throws: VaultError.isLocked) { try vault.secretText(1) }
    #expect(throws: VaultError.isLocked) { try vault.add(["b": "1"], "s") }
    try home.unlock(vault)
    #expect(try vault.secretText(1) == "s")
  }

  @Test("after a failed unlock holds no key that it did not hold before")
  func failedUnlock() throws {
    do {
      let vault = try home.unlocked()
      try vault.add(["a": "1"], "s")
      _ = try vault.collections.create(label: "Second")
    }
    let vault = home.vault()
    // The right C next to a wrong A: half of the keys would open.
    let mixed = TierKeys(unlocked: try .random(), session: try home.tiers.session.duplicate())
    #expect(throws: VaultError.self) {
      try vault.unlock(mixed, opening: .everything, liftingLocks: true, mayCreate: false)
    }
    for accessibility in AccessibilityClass.allCases where accessibility.tier != .device {
      #expect(!vault.hasKey(accessibility), "\(accessibility)")
    }
    #expect(try vault.collections.state(of: 1) == .sealed)
    #expect(try vault.reader.info(ofItem: 1).metadata == nil)
  }
}
