// swift-format-ignore-file
import Foundation
import Security

func resultPointerPlain() -> CFTypeRef? {
  var result: CFTypeRef? = nil
  _ = withUnsafeMutablePointer(to: &result) { SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, $0) }
  return result
}
