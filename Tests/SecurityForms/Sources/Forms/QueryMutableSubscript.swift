// swift-format-ignore-file
import Foundation
import Security

func queryMutableSubscript() -> OSStatus {
  let query = NSMutableDictionary()
  query[kSecClass] = kSecClassGenericPassword
  query[kSecAttrService as String] = "forms"
  return SecItemCopyMatching(query, nil)
}
