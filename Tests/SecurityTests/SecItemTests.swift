import Foundation
import LatchkeyItemProtection
import Testing

@testable import LatchkeySecurity

@Suite("Items")
struct SecItemTests {
  private let keychain = Keychain()

  private func secret(_ query: [CFString: Any]) -> String? {
    let found = keychain.find(query.merging([kSecReturnData: true]) { _, new in new })
    return (found.result as? Data).flatMap { String(bytes: $0, encoding: .utf8) }
  }

  @Test("An item is stored once, and is changed and deleted by its attributes")
  func life() {
    let query = Keychain.password("anna", [kSecValueData: Data("one".utf8)])
    #expect(keychain.add(query) == errSecSuccess)
    #expect(keychain.add(query) == errSecDuplicateItem)
    #expect(secret(Keychain.password()) == "one")
    #expect(keychain.update(Keychain.password(), [kSecValueData: Data("two".utf8)]) == errSecSuccess)
    #expect(secret(Keychain.password()) == "two")
    // Programs delete with the same dictionary that stores the item. Its secret is not a search term.
    #expect(keychain.delete(query) == errSecSuccess)
    #expect(keychain.delete(query) == errSecItemNotFound)
    #expect(keychain.status(query) == errSecItemNotFound)
    #expect(keychain.update(query, [kSecAttrLabel: "x"]) == errSecItemNotFound)
  }

  @Test("Generic passwords do not differ by label or accessibility, and absent and empty values are the same")
  func primaryKeyOfGeneric() {
    #expect(keychain.add([kSecClass: kSecClassGenericPassword]) == errSecSuccess)
    #expect(keychain.add(Keychain.password("", [kSecAttrService: ""])) == errSecDuplicateItem)
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    let same: [CFString: Any] = [
      kSecAttrLabel: "other", kSecAttrAccessible: kSecAttrAccessibleAlways, kSecAttrGeneric: Data([1]),
    ]
    #expect(keychain.add(Keychain.password("anna", same)) == errSecDuplicateItem)
    #expect(keychain.add(Keychain.password("anna", [kSecAttrService: "chat"])) == errSecSuccess)
    #expect(keychain.add(Keychain.password("anna", [kSecAttrAccessGroup: "TEAM.shared"])) == errSecSuccess)
    #expect(keychain.add(Keychain.password("anna", [kSecAttrSynchronizable: true])) == errSecSuccess)
  }

  @Test(
    "Internet passwords differ by each part of their address",
    arguments: [
      ("acct", "berta"), ("sdmn", "realm"), ("srvr", "b.example"), ("ptcl", "htps"), ("atyp", "form"), ("port", 81),
      ("path", "/b"),
    ] as [(String, any Sendable)])
  func primaryKeyOfInternet(key: String, value: any Sendable) {
    let query: [CFString: Any] = [
      kSecClass: kSecClassInternetPassword, kSecAttrAccount: "anna", kSecAttrServer: "a.example", kSecAttrPort: 80,
      kSecAttrProtocol: kSecAttrProtocolHTTP, kSecAttrPath: "/",
    ]
    #expect(keychain.add(query) == errSecSuccess)
    #expect(keychain.add(query.merging([kSecAttrLabel: "x"]) { _, new in new }) == errSecDuplicateItem)
    #expect(keychain.add(query.merging([key as NSString: value]) { _, new in new }) == errSecSuccess)
    #expect(keychain.update(query, [key as NSString: value]) == errSecDuplicateItem)
    #expect(keychain.store.items.count == 2)
  }

  @Test("Text and data with the same bytes are the same account")
  func textAndData() {
    #expect(keychain.add(Keychain.password(Data("anna".utf8))) == errSecSuccess)
    #expect(keychain.add(Keychain.password("anna")) == errSecDuplicateItem)
    #expect(keychain.status(Keychain.password("anna")) == errSecSuccess)
    // The letters look the same, but the bytes differ.
    #expect(keychain.add(Keychain.password("\u{e9}")) == errSecSuccess)
    #expect(keychain.add(Keychain.password("e\u{301}")) == errSecSuccess)
  }

  @Test("A number may be given as text")
  func numbersAsText() {
    func query(_ port: Any) -> [CFString: Any] { [kSecClass: kSecClassInternetPassword, kSecAttrPort: port] }
    #expect(keychain.add(query("443")) == errSecSuccess)
    #expect(keychain.add(query(443)) == errSecDuplicateItem)
    #expect(keychain.status(query(UInt16(443))) == errSecSuccess)
    #expect(keychain.status(query("0443")) == errSecItemNotFound)
    #expect(keychain.add([kSecClass: kSecClassInternetPassword]) == errSecSuccess)
    #expect(keychain.status(query(0)) == errSecSuccess)
  }

  @Test("Searches find only items that are not synchronizable, unless the query names others")
  func synchronizable() {
    func found(_ more: [CFString: Any]) -> Int {
      let all: [CFString: Any] = [kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll]
      let query = Keychain.password("anna", all.merging(more) { _, new in new })
      return (keychain.find(query).result as? [Any])?.count ?? 0
    }
    let bound: [CFString: Any] = [
      kSecAttrSynchronizable: kCFBooleanTrue as Any,
      kSecAttrAccessible: kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
    ]
    #expect(keychain.add(Keychain.password("anna", bound)) == errSecSuccess)
    #expect(found([:]) == 0)
    #expect(found([kSecAttrSynchronizable: true]) == 1)
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    #expect(found([:]) == 1)
    #expect(found([kSecAttrSynchronizable: 0]) == 1)
    #expect(found([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == 2)
    let any = Keychain.password("anna", [kSecAttrSynchronizable: kSecAttrSynchronizableAny])
    #expect(keychain.add(any) == errSecParam)
    #expect(keychain.delete(Keychain.password()) == errSecSuccess)
    #expect(found([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == 1)
  }

  @Test("A new item goes to the first group, and searches use all of the program's groups and no others")
  func groups() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    #expect(keychain.store.items.map(\.accessGroup) == ["TEAM.app"])
    #expect(keychain.add(Keychain.password("berta", [kSecAttrAccessGroup: "TEAM.shared"])) == errSecSuccess)
    #expect(keychain.status(Keychain.password("berta")) == errSecSuccess)
    #expect(keychain.status(Keychain.password("berta", [kSecAttrAccessGroup: "TEAM.app"])) == errSecItemNotFound)
    let foreign = Keychain.password("anna", [kSecAttrAccessGroup: "OTHER.app"])
    #expect(keychain.add(foreign) == errSecMissingEntitlement)
    #expect(keychain.status(foreign) == errSecMissingEntitlement)
    #expect(keychain.delete(foreign) == errSecMissingEntitlement)
    #expect(keychain.update(foreign, [kSecAttrLabel: "x"]) == errSecMissingEntitlement)
    #expect(keychain.update(Keychain.password(), [kSecAttrAccessGroup: "OTHER.app"]) == errSecNoAccessForItem)
    #expect(LastFailure.ofThread?.cause == .undeclaredGroup)
    #expect(keychain.update(Keychain.password(), [kSecAttrAccessGroup: "TEAM.shared"]) == errSecSuccess)
    #expect(keychain.store.items.allSatisfy { $0.accessGroup == "TEAM.shared" })
  }

  @Test("A program without groups has no items")
  func noGroups() {
    let keychain = Keychain(groups: [])
    #expect(keychain.add(Keychain.password()) == errSecMissingEntitlement)
    #expect(keychain.status(Keychain.password()) == errSecMissingEntitlement)
    #expect(LastFailure.ofThread?.cause == .noGroup)
    #expect(keychain.update(Keychain.password(), [:]) == errSecMissingEntitlement)
    #expect(keychain.delete(Keychain.password()) == errSecMissingEntitlement)
  }

  @Test("A persistent reference alone names one item")
  func persistentReference() throws {
    let added = keychain.adding(Keychain.password("anna", [kSecReturnPersistentRef: true]))
    let reference = try #require(added as? Data)
    #expect(keychain.add(Keychain.password("berta")) == errSecSuccess)
    let query: [CFString: Any] = [kSecValuePersistentRef: reference]
    let found = keychain.find(query.merging([kSecReturnAttributes: true]) { _, new in new })
    #expect((found.result as? [String: Any])?["acct"] as? String == "anna")
    for (key, value) in [
      kSecAttrAccount: "anna", kSecAttrAccessGroup: "TEAM.app", kSecAttrSynchronizable: false,
      kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked,
    ] as [CFString: Any] {
      #expect(keychain.status(query.merging([key: value]) { _, new in new }) == errSecParam)
    }
    let sameClass: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrSynchronizable: "syna"]
    #expect(keychain.status(query.merging(sameClass) { _, new in new }) == errSecSuccess)
    let otherClass: [CFString: Any] = [kSecClass: kSecClassInternetPassword]
    #expect(keychain.status(query.merging(otherClass) { _, new in new }) == errSecNoSuchClass)
    #expect(keychain.add(query) == errSecParam)
    #expect(keychain.update(query, [kSecAttrComment: "hers"]) == errSecSuccess)
    #expect(keychain.delete(query) == errSecSuccess)
    #expect(keychain.status(query) == errSecItemNotFound)
    #expect(keychain.status(Keychain.password("berta")) == errSecSuccess)
  }

  @Test("Accessibility is kept, filters a search, and is WhenUnlocked by default")
  func accessibility() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    #expect(keychain.store.items.map(\.protection) == [.standard])
    let later = Keychain.password("anna", [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])
    #expect(keychain.status(later) == errSecItemNotFound)
    let change: [CFString: Any] = [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]
    #expect(keychain.update(Keychain.password(), change) == errSecSuccess)
    #expect(keychain.status(later) == errSecSuccess)
    #expect(keychain.update(later, [kSecAttrLabel: "x"]) == errSecSuccess)
    #expect(keychain.store.items.map(\.protection.accessible) == [.afterFirstUnlock])
  }

  @Test("The vault sets the dates: a program cannot set them by storing an earlier result")
  func dates() throws {
    let old = Date(timeIntervalSince1970: 5)
    #expect(keychain.add(Keychain.password("anna", [kSecAttrCreationDate: old])) == errSecSuccess)
    #expect(keychain.update(Keychain.password(), [kSecAttrModificationDate: old]) == errSecSuccess)
    let stored = try #require(keychain.store.items.first)
    #expect(!stored.attributes.values.contains(.date(old)))
    guard case .date(let created) = stored.attributes[.creationDate] else { return #expect(Bool(false)) }
    #expect(keychain.status(Keychain.password("anna", [kSecAttrCreationDate: created])) == errSecSuccess)
    #expect(keychain.status(Keychain.password("anna", [kSecAttrCreationDate: old])) == errSecItemNotFound)
  }

  @Test("A call returns the store's own error")
  func locked() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    keychain.store.lock()
    #expect(keychain.status(Keychain.password()) == errSecInteractionNotAllowed)
    #expect(keychain.status(Keychain.password("berta")) == errSecItemNotFound)
  }
}
