// swift-format-ignore-file
import Foundation
import Security

func queryMutated(_ group: String?, _ secret: Data) -> OSStatus {
  var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "forms"]
  query[kSecReturnData as String] = kCFBooleanTrue
  query[kSecAttrAccessGroup as String] = group
  query[String(kSecAttrComment)] = "a comment"
  query.removeValue(forKey: kSecReturnData as String)
  query[kSecValueData as String] = secret
  return SecItemAdd(query as CFDictionary, nil)
}
