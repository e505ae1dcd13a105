// swift-format-ignore-file
import Foundation
import Security

func queryStringAny() -> OSStatus {
  let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "forms", kSecAttrAccount as String: "anna"]
  return SecItemCopyMatching(query as CFDictionary, nil)
}
