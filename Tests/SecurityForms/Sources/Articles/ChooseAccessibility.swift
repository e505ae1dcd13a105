// swift-format-ignore-file
import Foundation
import Security

extension LoginStore {
  func addForBackground(_ login: Login) -> OSStatus {
    let secret = login.password.data(using: .utf8)!
    var query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrAccount as String: login.name,
                                kSecAttrServer as String: LoginStore.host,
                                kSecAttrProtocol as String: kSecAttrProtocolIMAPS,
                                kSecAttrLabel as String: "Mail",
                                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock]
    query[kSecValueData as String] = secret
    return SecItemAdd(query as CFDictionary, nil)
  }

  var accessibilities: [CFString] {
    [kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenUnlocked,
     kSecAttrAccessibleWhenUnlockedThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlock,
     kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAlways,
     kSecAttrAccessibleAlwaysThisDeviceOnly]
  }
}
