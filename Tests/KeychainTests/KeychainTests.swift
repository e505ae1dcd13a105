import Foundation
import LatchkeyKeychain
import LatchkeyLocalAuthentication
import LatchkeyStandInStore
import Synchronization
import Testing

@Suite("Keychains")
struct KeychainTests {
  private let vault = Vault()

  @Test("A secret is set, read, replaced and deleted")
  func life() throws {
    let keychain = vault.keychain()
    #expect(thrown { () throws(KeychainError) in try keychain.get("anna") } == .notFound)
    #expect(try !keychain.contains("anna"))
    try keychain.set("one", for: "anna")
    #expect(try keychain.getString("anna") == "one")
    #expect(try keychain.contains("anna"))
    try keychain.set(Data([0, 0xff]), for: "anna")
    #expect(try keychain.get("anna") == Data([0, 0xff]))
    #expect(thrown { () throws(KeychainError) in try keychain.getString("anna") } == .notText)
    try keychain.set(Data(), for: "anna")
    #expect(try keychain.get("anna").isEmpty)
    #expect(try keychain.getString("anna") == "")
    #expect(vault.store.items.count == 1)
    try keychain.delete("anna")
    #expect(thrown { () throws(KeychainError) in try keychain.delete("anna") } == .notFound)
    #expect(vault.store.items.isEmpty)
  }

  @Test("Services are separate, and each lists its accounts")
  func accounts() throws {
    let mail = vault.keychain()
    #expect(try mail.accounts() == [])
    for account in ["clara", "anna", "", "e\u{301}", "\u{e9}"] { try mail.set("x", for: account) }
    try vault.keychain("chat").set("x", for: "berta")
    vault.add([kSecAttrService: "mail", kSecAttrAccount: Data("dora".utf8)])
    vault.add([kSecAttrService: "mail", kSecAttrAccount: Data([0xff])])
    vault.add([kSecAttrService: "mail", kSecAttrAccount: "anna", kSecAttrAccessGroup: "TEAM.shared"])
    let accounts = try mail.accounts()
    // The test compares bytes, because Swift does not distinguish the two spellings of the letter.
    let expected = ["clara", "anna", "", "e\u{301}", "\u{e9}", "dora"]
    #expect(accounts.map { Data($0.utf8) } == expected.map { Data($0.utf8) })
    #expect(try vault.keychain("chat").accounts() == ["berta"])
    #expect(try vault.keychain("mail", group: "TEAM.shared").accounts() == ["anna"])
  }

  @Test("Deleting all items of a service deletes no others, and without items it is no error")
  func deleteAll() throws {
    let mail = vault.keychain("mail")
    try mail.deleteAll()
    for account in ["anna", "berta", ""] { try mail.set("x", for: account) }
    try vault.keychain("chat").set("y", for: "anna")
    vault.add([kSecAttrService: "mail", kSecAttrAccount: "clara", kSecAttrAccessGroup: "TEAM.shared"])
    try vault.keychain("mail", group: "TEAM.shared").deleteAll()
    #expect(try Set(mail.accounts()) == ["anna", "berta", ""])
    try mail.deleteAll()
    #expect(try mail.accounts().isEmpty)
    #expect(try vault.keychain("chat").getString("anna") == "y")
  }

  @Test("A new item gets the class of the call or keychain; an existing one keeps its class unless the call names one")
  func accessibility() throws {
    let keychain = vault.keychain(accessibility: .afterFirstUnlock)
    func accessible() -> KeychainItemAccessibility? {
      vault.store.items.first.flatMap {
        KeychainItemAccessibility(attributeValue: $0.protection.accessible.constant as CFString)
      }
    }
    try keychain.set("x", for: "anna")
    #expect(accessible() == .afterFirstUnlock)
    try vault.keychain().set("y", for: "anna")
    #expect(accessible() == .afterFirstUnlock)
    try keychain.set("z", for: "anna", accessibility: .whenPasscodeSetThisDeviceOnly)
    #expect(accessible() == .whenPasscodeSetThisDeviceOnly)
    try keychain.delete("anna")
    try keychain.set("x", for: "anna", accessibility: .always)
    #expect(accessible() == .always)
    #expect(try keychain.getString("anna") == "x")
  }

  @Test("A call can set requirements with the secret, and they stay when a later call sets only the secret")
  func flags() throws {
    let keychain = vault.keychain(accessibility: .afterFirstUnlock)
    func control() -> [UInt32] { vault.store.items.map(\.protection.control.rawValue) }
    func accessible() -> [String] { vault.store.items.map(\.protection.accessible.constant) }
    try keychain.set("x", for: "anna", asking: [.userPresence, .applicationPassword])
    #expect(control() == [0x8000_0001])
    #expect(accessible() == ["ck"])
    try keychain.set("y", for: "anna")
    #expect(control() == [0x8000_0001])
    #expect(try keychain.getString("anna") == "y")
    try keychain.set("z", for: "anna", accessibility: .whenUnlocked, asking: .devicePasscode)
    #expect(control() == [0x10])
    #expect(accessible() == ["ak"])
    try keychain.set("z", for: "anna", accessibility: .whenUnlocked)
    #expect(control() == [0])
    let wrong: SecAccessControlCreateFlags = [.userPresence, .devicePasscode]
    // The message below must not name the cause of this call.
    #expect(vault.add([kSecAttrAccessGroup: 5]) == errSecParam)
    let error = thrown { () throws(KeychainError) in try keychain.set("0", for: "anna", asking: wrong) }
    #expect(error == .invalidParameter)
    let rule = "userPresence goes with applicationPassword and privateKeyUsage alone."
    let sentence = "One or more parameters passed to a function were not valid."
    #expect(error?.message == "\(sentence) The flags of 'asking' are invalid: \(rule)")
    #expect(try keychain.getString("anna") == "z")
    #expect(thrown { () throws(KeychainError) in try keychain.set("0", for: "anna", asking: .watch) } == .unsupported)
  }

  @Test("New items go to the named group, or to the first one")
  func groups() throws {
    try vault.keychain().set("own", for: "anna")
    try vault.keychain(group: "TEAM.shared").set("shared", for: "anna")
    #expect(vault.store.items.map(\.accessGroup) == ["TEAM.app", "TEAM.shared"])
    #expect(try vault.keychain(group: "TEAM.app").getString("anna") == "own")
    #expect(try vault.keychain(group: "TEAM.shared").getString("anna") == "shared")
    let foreign = vault.keychain(group: "OTHER")
    #expect(thrown { () throws(KeychainError) in try foreign.set("x", for: "anna") } == .missingEntitlement)
    #expect(thrown { () throws(KeychainError) in try foreign.contains("anna") } == .missingEntitlement)
  }

  @Test("A call reads the value that was set last, even if another group has the older item")
  func setThenGet() throws {
    vault.add([
      kSecAttrService: "mail", kSecAttrAccount: "anna", kSecAttrAccessGroup: "TEAM.shared",
      kSecValueData: Data("old".utf8),
    ])
    try vault.keychain().set("new", for: "anna")
    #expect(try vault.keychain().getString("anna") == "new")
    #expect(vault.store.items.count == 1)
  }

  @Test("Locked items are listed, but their secrets cannot be read")
  func locked() throws {
    let keychain = vault.keychain()
    try keychain.set("x", for: "anna")
    vault.store.lock()
    #expect(thrown { () throws(KeychainError) in try keychain.get("anna") } == .locked)
    #expect(thrown { () throws(KeychainError) in try keychain.accounts() } == .locked)
    #expect(try keychain.contains("anna"))
    #expect(try !keychain.contains("berta"))
    try keychain.delete("anna")
    #expect(try !keychain.contains("anna"))
  }

  @Test("The vault gets the reason and the context, and a call that only looks for an item asks nobody")
  func asking() throws {
    let keychain = vault.keychain()
    let context = LAContext()
    try keychain.set("x", for: "anna", reason: "Keep it", context: context)
    #expect(vault.store.authentication?.reason == "Keep it")
    #expect(vault.store.authentication?.context === context)
    #expect(try keychain.get("anna") == Data("x".utf8))
    #expect(vault.store.authentication?.context == nil)
    #expect(vault.store.authentication?.interaction == .allowed)
    #expect(try keychain.getString("anna", reason: "Sign in") == "x")
    #expect(vault.store.authentication?.reason == "Sign in")
    #expect(try keychain.contains("anna"))
    #expect(vault.store.authentication?.interaction == .forbidden)
    context.interactionNotAllowed = true
    #expect(try keychain.accounts(context: context) == ["anna"])
    #expect(vault.store.authentication?.interaction == .forbidden)
    context.invalidate()
    #expect(
      thrown { () throws(KeychainError) in try keychain.get("anna", context: context) } == .authenticationFailed)
  }

  @Test("A set works even if another process stores or deletes the item between two calls")
  func overtaken() throws {
    let theirs = vault.keychain()
    let stored = Mutex(false)
    let storing = vault.calls(beforeAdd: {
      guard stored.withLock({ !$0 }) else { return }
      stored.withLock { $0 = true }
      try? theirs.set("theirs", for: "anna")
    })
    try vault.keychain(calls: storing).set("ours", for: "anna")
    #expect(try theirs.getString("anna") == "ours")
    // The item is missing, then exists, then is missing again, and then nobody interferes.
    let rounds = Mutex(0)
    let both = vault.calls(
      beforeAdd: { if rounds.withLock({ $0 }) == 1 { try? theirs.set("theirs", for: "berta") } },
      beforeUpdate: {
        rounds.withLock { $0 += 1 }
        if rounds.withLock({ $0 }) == 2 { try? theirs.delete("berta") }
      })
    try vault.keychain(calls: both).set("ours", for: "berta")
    #expect(rounds.withLock { $0 } == 2)
    #expect(try theirs.getString("berta") == "ours")
    #expect(vault.store.items.count == 2)
  }

  @Test("A contradictory vault is not asked for ever")
  func contradiction() {
    let calls = ItemCalls(add: { _, _ in errSecDuplicateItem }, update: { _, _ in errSecItemNotFound })
    let keychain = vault.keychain(calls: calls)
    #expect(thrown { () throws(KeychainError) in try keychain.set("x", for: "anna") } == .duplicate)
  }

  @Test("Many threads set and delete one account: one item or none is left, and setting never fails")
  func threads() throws {
    let keychain = vault.keychain()
    let failures = Mutex<[KeychainError]>([])
    DispatchQueue.concurrentPerform(iterations: 400) { round in
      do throws(KeychainError) {
        if round.isMultiple(of: 2) { try keychain.set("\(round)", for: "anna") } else { try keychain.delete("anna") }
      } catch {
        if error != .notFound || round.isMultiple(of: 2) { failures.withLock { $0.append(error) } }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(vault.store.items.count <= 1)
  }
}
