// swift-format-ignore-file
import Foundation
import Security

func queryNSStringAny() -> OSStatus {
  let query: [NSString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "forms"]
  return SecItemDelete(query as CFDictionary)
}
