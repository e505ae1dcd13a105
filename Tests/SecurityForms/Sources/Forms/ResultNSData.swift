// swift-format-ignore-file
import Foundation
import Security

func resultNSData() -> String? {
  var result: AnyObject?
  SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, &result)
  guard let data = result as? NSData else { return nil }
  return NSString(data: data as Data, encoding: String.Encoding.utf8.rawValue) as String?
}
