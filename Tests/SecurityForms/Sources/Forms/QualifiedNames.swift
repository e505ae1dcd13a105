// swift-format-ignore-file
import Foundation
import Security

func qualifiedNames() -> Security.OSStatus {
  Security.SecItemDelete([Security.kSecClass: Security.kSecClassGenericPassword] as Security.CFDictionary)
}
