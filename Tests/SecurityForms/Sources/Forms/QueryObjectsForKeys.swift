// swift-format-ignore-file
import Foundation
import Security

func queryObjectsForKeys(_ account: String) -> OSStatus {
  let query = NSMutableDictionary(
    objects: [kSecClassGenericPassword, "forms", account, kCFBooleanTrue as Any, kSecMatchLimitOne],
    forKeys: [kSecClass, kSecAttrService, kSecAttrAccount, kSecReturnData, kSecMatchLimit])
  return SecItemCopyMatching(query as CFDictionary, nil)
}
