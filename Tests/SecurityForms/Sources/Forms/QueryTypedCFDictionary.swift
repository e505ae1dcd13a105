// swift-format-ignore-file
import Foundation
import Security

func queryTypedCFDictionary() -> OSStatus {
  let query: CFDictionary = [kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll] as CFDictionary
  return SecItemCopyMatching(query, nil)
}
