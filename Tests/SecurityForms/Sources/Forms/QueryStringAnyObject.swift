// swift-format-ignore-file
import Foundation
import Security

func queryStringAnyObject(_ account: String, _ secret: Data) -> OSStatus {
  let query: [String: AnyObject] = [
    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: account as AnyObject,
    kSecValueData as String: secret as AnyObject, kSecReturnData as String: kCFBooleanTrue,
  ]
  return SecItemAdd(query as CFDictionary, nil)
}
