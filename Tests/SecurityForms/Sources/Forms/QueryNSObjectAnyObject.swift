// swift-format-ignore-file
import Foundation
import Security

func queryNSObjectAnyObject() -> OSStatus {
  let query: [NSObject: AnyObject] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "forms" as NSString]
  return SecItemCopyMatching(query as CFDictionary, nil)
}
