import Foundation
import LatchkeyLocalAuthentication
import LatchkeyStandInStore
import Testing

@testable import LatchkeySecurity

@Suite("The content of queries")
struct QueryTests {
  private let keychain = Keychain()

  @Test("A query needs a class, by name or by a reference")
  func classes() {
    #expect(keychain.status([:]) == errSecParam)
    #expect(keychain.add([kSecAttrAccount: "anna"]) == errSecParam)
    #expect(keychain.delete([kSecAttrAccount: "anna"]) == errSecParam)
    #expect(keychain.status([kSecClass: 5]) == errSecParam)
    #expect(keychain.status([kSecClass: "such"]) == errSecNoSuchClass)
    for other in [kSecClassKey, kSecClassCertificate, kSecClassIdentity] {
      #expect(keychain.add([kSecClass: other]) == errSecUnimplemented)
    }
    #expect(keychain.status([kSecClass: kSecClassGenericPassword]) == errSecItemNotFound)
  }

  @Test("A program can delete all five classes, although there are no keys, certificates or identities")
  func cleanUp() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    let classes = [
      kSecClassKey, kSecClassGenericPassword, kSecClassCertificate, kSecClassInternetPassword, kSecClassIdentity,
    ]
    for each in classes {
      // An attribute that only this class has.
      var query: [CFString: Any] = [kSecClass: each]
      if each == kSecClassKey { query[kSecAttrApplicationTag] = Data([1]) }
      if each == kSecClassCertificate { query[kSecAttrIssuer] = Data([1]) }
      let isPassword = each == kSecClassGenericPassword || each == kSecClassInternetPassword
      if !isPassword {
        #expect(keychain.status(query) == errSecItemNotFound)
        #expect(keychain.update(query, [kSecAttrLabel: "x"]) == errSecItemNotFound)
      }
      #expect(keychain.delete(query) == (each == kSecClassGenericPassword ? errSecSuccess : errSecItemNotFound))
    }
    #expect(keychain.store.items.isEmpty)
    #expect(keychain.status(Keychain.password("anna", [kSecAttrIssuer: Data([1])])) == errSecNoSuchAttr)
  }

  @Test(
    "A value of the wrong type is a mistake",
    arguments: [
      ("acct", Date()), ("acct", [1]), ("acct", NSNull()), ("svce", 1.5), ("labl", NSNull()), ("gena", UUID()),
      ("port", Data([80])), ("port", 80.5), ("crtr", UInt64.max), ("invi", Date()), ("cdat", "today"), ("mdat", 5),
      ("agrp", 5), ("agrp", NSNull()), ("sync", "maybe"), ("sync", 2), ("sync", NSNull()), ("pdmn", "xx"), ("pdmn", 5),
      ("accc", "ak"), ("accc", NSNull()), ("r_Data", "yes"), ("r_Data", 2), ("r_Attributes", NSNull()),
      ("m_Limit", "m_LimitTwo"), ("m_Limit", 0), ("m_Limit", -1), ("m_Limit", 1.5), ("m_Limit", NSNull()),
      ("u_AuthCtx", "context"), ("u_AuthUI", "u_AuthUIX"), ("u_AuthUI", true), ("u_NoAuthUI", "yes"),
      ("u_OpPrompt", 5), ("v_Data", "secret"), ("v_Data", NSNull()), ("v_Ref", "ref"), ("v_PersistentRef", "ref"),
      ("v_PersistentRef", Data()), ("v_PersistentRef", Data("genp".utf8)), ("v_PersistentRef", Data("xxxx1".utf8)),
      ("v_PersistentRef", Data(count: 69)), ("m_Other", 1), ("r_Other", true), ("u_Other", true), ("v_Other", true),
      ("", 1), ("other", 1),
    ] as [(String, any Sendable)])
  func wrongTypes(key: String, value: any Sendable) {
    let itemClass = key == "port" ? kSecClassInternetPassword : kSecClassGenericPassword
    let query: [CFString: Any] = [kSecClass: itemClass, key as NSString: value]
    #expect(keychain.status(query) == errSecParam)
    #expect(keychain.add(query) == errSecParam)
    #expect(keychain.delete(query) == errSecParam)
    #expect(keychain.update(query, [kSecAttrLabel: "x"]) == errSecParam)
    #expect(keychain.store.items.isEmpty)
  }

  @Test("The message names the key of a mistake")
  func mistakesByName() {
    let password = kSecClassGenericPassword
    let mistakes: [(query: [CFString: Any], text: String)] = [
      ([:], "kSecClass is missing."), ([kSecClass: 5], "value of kSecClass is"),
      ([kSecClass: password, kSecValueData: "text"], "value of kSecValueData is"),
      ([kSecClass: password, kSecAttrAccount: NSNull()], "value of kSecAttrAccount is"),
      ([kSecClass: password, kSecAttrAccessible: "xx"], "value of kSecAttrAccessible is"),
      ([kSecClass: password, kSecMatchLimit: 0], "value of kSecMatchLimit is"),
      ([kSecClass: password, kSecUseAuthenticationUI: true], "value of kSecUseAuthenticationUI is"),
      ([kSecValuePersistentRef: Data()], "value of kSecValuePersistentRef is"),
      ([kSecClass: password, "kSecAttrAccount": "x"], "The key kSecAttrAccount does not exist."),
    ]
    for (query, text) in mistakes {
      #expect(keychain.status(query) == errSecParam)
      let message = SecCopyErrorMessageString(errSecParam, nil) as String? ?? ""
      #expect(message.hasPrefix("One or more parameters passed to a function were not valid. "))
      #expect(message.contains(text))
    }
    let references: [(query: [CFString: Any], changes: [CFString: Any], status: OSStatus, text: String)] = [
      ([kSecClass: "xxxx"], [:], errSecNoSuchClass, "value of kSecClass is invalid"),
      ([kSecClass: password, kSecAttrServer: "x"], [:], errSecNoSuchAttr, "do not have kSecAttrServer."),
      ([kSecClass: password, "abcd" as NSString: "x"], [:], errSecNoSuchAttr, "the attribute abcd."),
      ([kSecClass: password], [kSecReturnData: true], errSecNoSuchAttr, "cannot change kSecReturnData."),
      ([kSecClass: password, kSecReturnData: true], [:], errSecParam, "take them: kSecReturnData."),
      ([kSecClass: password, kSecMatchLimit: kSecMatchLimitAll], [:], errSecParam, "value of kSecMatchLimit is"),
      (
        [
          kSecClass: password, kSecAttrAccessible: kSecAttrAccessibleAlways,
          kSecAttrAccessControl: SecAccessControl(accessible: .whenUnlocked, flags: .userPresence),
        ],
        [:], errSecParam, "take them: kSecAttrAccessible, kSecAttrAccessControl."
      ),
    ]
    for (query, changes, status, text) in references {
      #expect(keychain.update(query, changes) == status)
      let message = SecCopyErrorMessageString(status, nil) as String? ?? ""
      #expect(message.contains(text), "\(message)")
    }
    #expect(keychain.update(Keychain.password(), [kSecValueData: "text"]) == errSecParam)
    #expect(LastFailure.ofThread?.cause == .invalidValue(key: "v_Data"))
    for name in AttributeName.allCases { #expect(KeyNames.all[name.rawValue] != nil) }
  }

  @Test("A wrapped nil is a mistake, and differs from a missing value")
  func wrappedNil() {
    let account: String? = nil
    #expect(keychain.status([kSecClass: kSecClassGenericPassword, kSecAttrAccount: account as Any]) == errSecParam)
  }

  @Test("A key that is not text is a mistake")
  func keyOfNumbers() {
    let service = ItemService(store: StandInStore())
    let query: [AnyHashable: Any] = ["class": "genp", 5: "x"]
    #expect(service.copyMatching(query as NSDictionary, nil) == errSecParam)
  }

  @Test(
    "An attribute of the other class or of no class gets an error of its own",
    arguments: [
      ("genp", "srvr"), ("genp", "ptcl"), ("genp", "port"), ("genp", "path"), ("genp", "sdmn"), ("genp", "atyp"),
      ("inet", "svce"), ("inet", "gena"), ("genp", "tomb"), ("inet", "klbl"),
    ])
  func foreignAttributes(itemClass: String, key: String) {
    let query: [CFString: Any] = [kSecClass: itemClass, key as NSString: "x"]
    #expect(keychain.status(query) == errSecNoSuchAttr)
    #expect(keychain.add(query) == errSecNoSuchAttr)
    #expect(keychain.update([kSecClass: itemClass], [key as NSString: "x"]) == errSecNoSuchAttr)
  }

  @Test("The choice of a Mac's keychain changes nothing")
  func dataProtection() {
    #expect(keychain.add(Keychain.password("anna", [kSecUseDataProtectionKeychain: true])) == errSecSuccess)
    #expect(keychain.status(Keychain.password("anna", [kSecUseDataProtectionKeychain: false])) == errSecSuccess)
  }

  @Test("Accessibility and access control must agree")
  func contradiction() {
    func control(_ flags: SecAccessControlCreateFlags) -> SecAccessControl? {
      SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
    }
    func add(_ account: String, _ accessible: CFString, _ flags: SecAccessControlCreateFlags) -> OSStatus {
      keychain.add(
        Keychain.password(
          account, [kSecAttrAccessible: accessible, kSecAttrAccessControl: control(flags) as Any]))
    }
    #expect(add("a", kSecAttrAccessibleAfterFirstUnlock, []) == errSecParam)
    #expect(add("a", kSecAttrAccessibleWhenUnlocked, .userPresence) == errSecParam)
    #expect(add("a", kSecAttrAccessibleWhenUnlocked, []) == errSecSuccess)
    #expect(
      keychain.update(
        Keychain.password("a"),
        [kSecAttrAccessible: kSecAttrAccessibleAlways, kSecAttrAccessControl: control([]) as Any]) == errSecParam)
  }

  @Test("Updates accept no limit and return nothing, and deletions accept only the limit of all")
  func limits() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    for limit in [kSecMatchLimitOne, kSecMatchLimitAll, 3 as NSNumber] as [Any] {
      let query = Keychain.password("anna", [kSecMatchLimit: limit])
      #expect(keychain.update(query, [kSecAttrLabel: "x"]) == errSecParam)
      if limit as? CFString != kSecMatchLimitAll { #expect(keychain.delete(query) == errSecParam) }
      #expect(keychain.status(query) == errSecSuccess)
    }
    for key in [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef] {
      #expect(keychain.update(Keychain.password("anna", [key: true]), [kSecAttrLabel: "x"]) == errSecParam)
      #expect(keychain.update(Keychain.password("anna", [key: false]), [kSecAttrLabel: "x"]) == errSecSuccess)
    }
    #expect(keychain.delete(Keychain.password("anna", [kSecReturnData: true])) == errSecSuccess)
    for account in ["anna", "berta"] { #expect(keychain.add(Keychain.password(account)) == errSecSuccess) }
    let all: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll]
    #expect(keychain.delete(all) == errSecSuccess)
    #expect(keychain.delete(all) == errSecItemNotFound)
  }

  @Test("An update changes only attributes and the secret")
  func changes() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    let other: [CFString: Any] = [
      kSecClass: kSecClassGenericPassword, kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne,
      kSecUseAuthenticationUI: kSecUseAuthenticationUIFail, kSecValuePersistentRef: Data("genp1".utf8),
    ]
    for (key, value) in other { #expect(keychain.update(Keychain.password(), [key: value]) == errSecNoSuchAttr) }
    #expect(keychain.update(Keychain.password(), [kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == errSecParam)
    #expect(keychain.update(Keychain.password(), [kSecValueData: "text"]) == errSecParam)
    #expect(keychain.update(Keychain.password(), [kSecUseDataProtectionKeychain: true]) == errSecSuccess)
  }

  @Test("Passwords have no reference objects")
  func references() throws {
    let certificate = try #require(SecCertificateCreateWithData(nil, Data([0x30, 0]) as CFData))
    #expect(keychain.status(Keychain.password("anna", [kSecValueRef: certificate])) == errSecUnimplemented)
    #expect(keychain.add([kSecValueRef: certificate]) == errSecUnimplemented)
    #expect(keychain.delete([kSecValueRef: certificate]) == errSecItemNotFound)
    #expect(keychain.delete([kSecValueRef: "text"]) == errSecParam)
    for list in [kSecMatchItemList, kSecUseItemList] {
      #expect(keychain.status(Keychain.password("anna", [list: [certificate]])) == errSecUnimplemented)
    }
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    #expect(keychain.status(Keychain.password("anna", [kSecReturnRef: true])) == errSecUnimplemented)
    #expect(keychain.status(Keychain.password("anna", [kSecReturnRef: false])) == errSecSuccess)
  }

  @Test("Without a way to the vault, mistakes are still reported, and other calls say that the vault is missing")
  func noVault() {
    let service = ItemService(store: AbsentStore())
    let query = Keychain.password() as CFDictionary
    #expect(service.add(query, nil) == errSecNotAvailable)
    #expect(service.copyMatching(query, nil) == errSecNotAvailable)
    #expect(service.delete(query) == errSecNotAvailable)
    #expect(service.update(query, [:] as CFDictionary) == errSecNotAvailable)
    let shared = Keychain.password("anna", [kSecAttrAccessGroup: "TEAM.shared"]) as CFDictionary
    #expect(service.add(shared, nil) == errSecNotAvailable)
    #expect(service.update(shared, ["agrp": "TEAM.other"] as CFDictionary) == errSecNotAvailable)
    // The public functions give the same errors, because a mistaken query never reaches a vault.
    #expect(SecItemAdd([:] as CFDictionary, nil) == errSecParam)
    #expect(SecItemCopyMatching([:] as CFDictionary, nil) == errSecParam)
    #expect(SecItemDelete([:] as CFDictionary) == errSecParam)
    #expect(SecItemUpdate(query, ["class": "genp"] as CFDictionary) == errSecNoSuchAttr)
  }
}

/// A store that is not available.
private struct AbsentStore: ItemStore {
  private static let failure = ItemFailure(errSecNotAvailable)

  var accessGroups: AccessGroups { get throws(ItemFailure) { throw AbsentStore.failure } }

  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem { throw AbsentStore.failure }

  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem] { throw AbsentStore.failure }

  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int { throw AbsentStore.failure }

  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int { throw AbsentStore.failure }
}
