// swift-format-ignore-file
import Foundation
import Security

func queryInlineStringKeys() -> OSStatus {
  SecItemDelete([kSecClass as String: kSecClassInternetPassword, kSecAttrPort as String: 443] as [String: Any] as CFDictionary)
}
