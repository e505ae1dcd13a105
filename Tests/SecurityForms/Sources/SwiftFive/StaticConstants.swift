// swift-format-ignore-file
import Foundation
import Security

struct StaticConstants {
  static let itemClass = kSecClass
  static let limits = [kSecMatchLimitOne, kSecMatchLimitAll]
}

func staticConstants() -> OSStatus { SecItemDelete([StaticConstants.itemClass: kSecClassGenericPassword] as CFDictionary) }
