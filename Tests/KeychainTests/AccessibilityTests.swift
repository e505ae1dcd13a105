import Foundation
import LatchkeyKeychain
import LatchkeySecurity
import Testing

@Suite("Accessibility")
struct AccessibilityTests {
  @Test("The seven cases are Apple's seven values, both ways")
  func constants() {
    let table: [(KeychainItemAccessibility, CFString, String)] = [
      (.afterFirstUnlock, kSecAttrAccessibleAfterFirstUnlock, "ck"),
      (.afterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, "cku"),
      (.always, kSecAttrAccessibleAlways, "dk"),
      (.alwaysThisDeviceOnly, kSecAttrAccessibleAlwaysThisDeviceOnly, "dku"),
      (.whenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, "akpu"),
      (.whenUnlocked, kSecAttrAccessibleWhenUnlocked, "ak"),
      (.whenUnlockedThisDeviceOnly, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, "aku"),
    ]
    #expect(Set(table.map(\.0)) == Set(KeychainItemAccessibility.allCases))
    for (accessibility, constant, text) in table {
      #expect(accessibility.attributeValue == constant)
      #expect(accessibility.attributeValue as String == text)
      #expect(KeychainItemAccessibility(attributeValue: text as CFString) == accessibility)
    }
    #expect(KeychainItemAccessibility(attributeValue: "") == nil)
    #expect(KeychainItemAccessibility(attributeValue: "f") == nil)
  }
}
