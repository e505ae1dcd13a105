// swift-format-ignore-file
import Foundation
import Security

func queryMerged(_ more: [String: Any]) -> OSStatus {
  let base: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
  return SecItemCopyMatching(base.merging(more) { $1 } as CFDictionary, nil)
}
