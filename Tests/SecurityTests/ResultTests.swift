import Foundation
import LatchkeyStandInStore
import Testing

@testable import LatchkeySecurity

@Suite("Results")
struct ResultTests {
  private let keychain = Keychain()

  /// Every combination of requested results.
  static let combinations: [Set<String>] = {
    let keys = ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"]
    return (0..<16).map { bits in Set(keys.indices.filter { bits >> $0 & 1 == 1 }.map { keys[$0] }) }
  }()

  private func fill() {
    for name in ["anna", "berta", "clara"] {
      #expect(keychain.add(Keychain.password(name, [kSecValueData: Data(name.utf8)])) == errSecSuccess)
    }
  }

  private func asking(_ keys: Set<String>, _ query: [CFString: Any]) -> [CFString: Any] {
    query.merging(keys.map { ($0 as NSString, kCFBooleanTrue as Any) }) { _, new in new }
  }

  private func check(_ one: Any?, _ keys: Set<String>, _ name: String) {
    switch keys {
    case ["r_Data"]: #expect(one as? Data == Data(name.utf8))
    case ["r_PersistentRef"]: #expect((one as? Data)?.prefix(4) == Data("genp".utf8))
    default:
      let dictionary = one as? [String: Any]
      #expect(dictionary != nil)
      #expect(dictionary?["acct"] as? String == (keys.contains("r_Attributes") ? name : nil))
      #expect(dictionary?["v_Data"] as? Data == (keys.contains("r_Data") ? Data(name.utf8) : nil))
      #expect((dictionary?["v_PersistentRef"] is Data) == keys.contains("r_PersistentRef"))
      #expect(dictionary?["v_Ref"] == nil)
    }
  }

  @Test("Every combination of results, with every kind of limit", arguments: combinations)
  func combination(keys: Set<String>) {
    fill()
    let limits: [(limit: Any?, count: Int?)] = [
      (nil, nil), (kSecMatchLimitOne, nil), (1, nil), (kSecMatchLimitAll, 3), (2, 2), (7, 3),
    ]
    for (limit, count) in limits {
      var query = asking(keys, [kSecClass: kSecClassGenericPassword])
      query[kSecMatchLimit] = limit
      let (status, result) = keychain.find(query)
      guard keys != ["r_Ref"] else {
        #expect(status == errSecUnimplemented && result == nil)
        continue
      }
      #expect(status == errSecSuccess)
      if keys.isEmpty {
        #expect(result == nil)
      } else if let count {
        let array = result as? [Any]
        #expect(array?.count == count)
        for (one, name) in zip(array ?? [], ["anna", "berta", "clara"]) { check(one, keys, name) }
      } else {
        check(result, keys, "anna")
      }
    }
    // A single item comes in an array too. Without an item there is no result.
    let one = asking(keys, Keychain.password("clara", [kSecMatchLimit: kSecMatchLimitAll]))
    if !keys.isSubset(of: ["r_Ref"]) { #expect((keychain.find(one).result as? [Any])?.count == 1) }
    #expect(keychain.find(asking(keys, Keychain.password("dora"))).result == nil)
  }

  @Test("A new item is returned as a search returns it", arguments: combinations)
  func added(keys: Set<String>) {
    let query = asking(keys, Keychain.password("anna", [kSecValueData: Data("anna".utf8)]))
    let result = keychain.adding(query)
    if keys == ["r_Ref"] {
      #expect(keychain.store.items.isEmpty)
    } else if keys.isEmpty {
      #expect(result == nil)
    } else {
      check(result, keys, "anna")
      #expect((result as? NSObject)?.isEqual(keychain.find(asking(keys, Keychain.password())).result) == true)
    }
  }

  @Test("Values come back in the type in which they were stored")
  func types() throws {
    let account = Data([0xff, 0, 1])
    let query: [CFString: Any] = [
      kSecClass: kSecClassInternetPassword, kSecAttrAccount: account, kSecAttrServer: "a.example",
      kSecAttrPort: 8080, kSecAttrProtocol: kSecAttrProtocolFTP, kSecAttrSecurityDomain: Data("realm".utf8),
      kSecAttrCreator: UInt32(0x4c74_6368), kSecAttrType: NSNumber(value: 7), kSecAttrIsInvisible: true,
      kSecAttrIsNegative: kCFBooleanFalse as Any, kSecAttrLabel: NSMutableString("A label"),
      kSecAttrDescription: "", kSecAttrComment: 5, kSecReturnAttributes: true,
    ]
    let result = try #require(keychain.adding(query) as? [String: Any])
    #expect(result["class"] as? String == "inet")
    #expect(result["acct"] as? Data == account)
    #expect(result["srvr"] as? String == "a.example")
    #expect(result["port"] as? Int == 8080)
    #expect(result["ptcl"] as? String == "ftp ")
    #expect(result["sdmn"] as? Data == Data("realm".utf8))
    #expect(result["crtr"] as? UInt32 == 0x4c74_6368)
    #expect(result["type"] as? Int == 7)
    #expect(result["invi"] as? Bool == true)
    #expect(result["invi"] as? Int == 1)
    #expect(result["nega"] as? Bool == false)
    #expect(result["labl"] as? String == "A label")
    #expect(result["desc"] as? String == "")
    #expect(result["icmt"] as? Int == 5)
    #expect(result["cdat"] is Date)
    #expect(result["mdat"] is Date)
    #expect(result["sync"] as? Bool == false)
    #expect(result["agrp"] as? String == "TEAM.app")
    #expect(result["pdmn"] as? String == kSecAttrAccessibleWhenUnlocked as String)
    // A missing primary attribute counts as empty. Any other missing attribute is absent.
    #expect(result["path"] as? String == "")
    #expect(result["atyp"] as? String == "")
    #expect(result["gena"] == nil)
    #expect(result["v_Data"] == nil)
  }

  @Test("An item without a secret has an empty one")
  func emptySecret() {
    #expect(keychain.add(Keychain.password()) == errSecSuccess)
    #expect(keychain.find(Keychain.password("anna", [kSecReturnData: true])).result as? Data == Data())
  }

  @Test("A result can be cast to every kind of dictionary that programs use")
  func casts() {
    fill()
    let result = keychain.find(Keychain.password("anna", [kSecReturnAttributes: true])).result
    #expect((result as? [String: Any])?[kSecAttrAccount as String] as? String == "anna")
    #expect((result as? [CFString: Any])?[kSecAttrAccount] as? String == "anna")
    #expect((result as? [NSString: AnyObject])?[kSecAttrAccount] as? String == "anna")
    #expect((result as? [String: AnyObject])?["acct"] as? String == "anna")
    #expect((result as? [AnyHashable: Any])?[kSecAttrAccount] as? String == "anna")
    #expect((result as? [AnyHashable: Any])?["acct"] as? String == "anna")
    #expect((result as? NSDictionary)?[kSecAttrAccount] as? String == "anna")
    #expect((result as? NSDictionary)?.object(forKey: kSecAttrAccount) as? String == "anna")
  }

  @Test("A failed call leaves the program's result unchanged")
  func untouched() {
    var result: AnyObject? = "before" as NSString
    let service = ItemService(store: StandInStore())
    #expect(service.copyMatching(Keychain.password() as CFDictionary, &result) == errSecItemNotFound)
    #expect(result as? String == "before")
  }
}
