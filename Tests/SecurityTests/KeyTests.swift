import Foundation
import LatchkeySecurity
import Testing

/// Linux has no keys as items. Code that mentions keys compiles and gets an error.
@Suite("Keys")
struct KeyTests {
  @Test("No key is created, and the error says why") func noKey() {
    var error: Unmanaged<CFError>?
    let attributes: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256]
    #expect(SecKeyCreateRandomKey(attributes as CFDictionary, &error) == nil)
    let reason = error?.takeRetainedValue()
    #expect(reason?.domain == NSOSStatusErrorDomain && reason?.code == Int(errSecUnimplemented))
    #expect(SecKeyCreateRandomKey(attributes as CFDictionary, nil) == nil)
  }

  @Test("No key is found, and adding one is not implemented, whatever its attributes") func calls() {
    let query: [CFString: Any] = [kSecClass: kSecClassKey, kSecAttrKeyType: kSecAttrKeyTypeRSA]
    #expect(Keychain().status(query) == errSecItemNotFound)
    #expect(Keychain().add(query) == errSecUnimplemented)
  }
}
