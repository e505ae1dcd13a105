// swift-format-ignore-file
import Foundation
import Security

func queryUniqueKeys() -> OSStatus {
  let query = Dictionary(uniqueKeysWithValues: [(kSecClass, kSecClassGenericPassword as Any), (kSecAttrService, "forms")])
  return SecItemCopyMatching(query as CFDictionary, nil)
}
