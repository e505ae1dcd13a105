// swift-format-ignore-file
import Foundation
import Security

func queryNSDictionary() -> OSStatus {
  let query: NSDictionary = [kSecClass: kSecClassGenericPassword, kSecAttrService: "forms", kSecReturnData: true]
  return SecItemCopyMatching(query, nil)
}
