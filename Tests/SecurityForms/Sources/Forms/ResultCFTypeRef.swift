// swift-format-ignore-file
import Foundation
import Security

func resultCFTypeRef() -> Data? {
  var result: CFTypeRef?
  guard SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, &result) == noErr else { return nil }
  return result as? Data
}
