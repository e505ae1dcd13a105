// swift-format-ignore-file
import Foundation
import Security

func queryInline(_ secret: Data) -> OSStatus {
  SecItemAdd([
    kSecClass: kSecClassGenericPassword,
    kSecAttrAccount: "anna",
    kSecValueData: secret,
  ] as CFDictionary, nil)
}
