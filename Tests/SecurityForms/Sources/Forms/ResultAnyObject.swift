// swift-format-ignore-file
import Foundation
import Security

func resultAnyObject() -> Data? {
  var result: AnyObject?
  let status = SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, &result)
  return status == errSecSuccess ? result as? Data : nil
}
