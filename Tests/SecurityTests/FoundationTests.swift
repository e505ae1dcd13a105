import Foundation
import LatchkeySecurity
import Testing

@Suite("Additions to Foundation")
struct FoundationTests {
  @Test("A mutable dictionary accepts values by name, and nil removes them")
  func setValue() {
    let query = NSMutableDictionary()
    query.setValue(kSecClassGenericPassword, forKey: kSecClass as String)
    query.setValue("anna", forKey: "acct")
    query.setValue(nil, forKey: "acct")
    #expect(query.count == 1)
    #expect(query[kSecClass] as? String == "genp")
  }

  @Test("A string object and a string are the same key")
  func keys() {
    #expect(AnyHashable("acct" as NSString) == AnyHashable("acct"))
    #expect(AnyHashable("acct" as NSString).hashValue == AnyHashable("acct").hashValue)
    #expect(AnyHashable("acct" as NSString) != AnyHashable("svce"))
    #expect(AnyHashable(NSMutableString("acct")) == AnyHashable("acct"))
    let byText: [AnyHashable: Any] = ["acct": "anna"]
    #expect(byText[kSecAttrAccount] as? String == "anna")
    #expect(AnyHashable("acct" as NSString).base is NSString)
  }
}
