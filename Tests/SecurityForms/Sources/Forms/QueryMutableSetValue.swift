// swift-format-ignore-file
import Foundation
import Security

func queryMutableSetValue(_ account: String?) -> OSStatus {
  let query = NSMutableDictionary()
  query.setValue(kSecClassGenericPassword, forKey: kSecClass as String)
  query.setValue(account, forKey: kSecAttrAccount as String)
  query.setValue(kCFBooleanTrue, forKey: kSecReturnData as String)
  return SecItemCopyMatching(query as CFDictionary, nil)
}
