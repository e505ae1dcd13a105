// swift-format-ignore-file
import Foundation
import Security

func resultForced() -> String {
  var result: AnyObject?
  guard SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, &result) == errSecSuccess else { return "" }
  return String(decoding: result as! Data, as: UTF8.self)
}
