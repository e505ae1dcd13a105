// swift-format-ignore-file
import Foundation
import Security

func queryCFStringAny() -> OSStatus {
  let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "forms", kSecMatchLimit: kSecMatchLimitAll]
  return SecItemCopyMatching(query as CFDictionary, nil)
}
