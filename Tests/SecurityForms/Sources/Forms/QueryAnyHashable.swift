// swift-format-ignore-file
import Foundation
import Security

func queryAnyHashable() -> OSStatus {
  var query: [AnyHashable: Any] = [kSecClass: kSecClassGenericPassword]
  query[kSecAttrService] = "forms"
  return SecItemCopyMatching(query as CFDictionary, nil)
}
