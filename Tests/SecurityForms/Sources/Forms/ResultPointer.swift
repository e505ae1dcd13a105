// swift-format-ignore-file
import Foundation
import Security

func resultPointer() -> Data? {
  var result: AnyObject?
  let status = withUnsafeMutablePointer(to: &result) {
    SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, UnsafeMutablePointer($0))
  }
  return status == noErr ? result as? Data : nil
}
