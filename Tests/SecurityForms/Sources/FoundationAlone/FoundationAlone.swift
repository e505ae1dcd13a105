// swift-format-ignore-file
import Foundation

func foundationAlone() -> OSStatus {
  let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
  return SecItemDelete(query as CFDictionary)
}
