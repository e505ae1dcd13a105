// swift-format-ignore-file
import Foundation
import Security

func queryNSDictionaryCast() -> OSStatus {
  let query = NSDictionary(dictionary: [kSecClass as String: kSecClassGenericPassword])
  return SecItemCopyMatching(query as CFDictionary, nil)
}
