// swift-format-ignore-file
import Foundation
import Security

func queryMutableSetObject() -> OSStatus {
  let query = NSMutableDictionary()
  query.setObject(kSecClassGenericPassword, forKey: kSecClass)
  query.setObject("forms", forKey: kSecAttrService as NSString)
  query.removeObject(forKey: kSecAttrService)
  return SecItemDelete(query)
}
