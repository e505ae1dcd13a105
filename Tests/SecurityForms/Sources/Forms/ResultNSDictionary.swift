// swift-format-ignore-file
import Foundation
import Security

func resultNSDictionary(_ result: AnyObject?) -> String? {
  guard let item = result as? NSDictionary else { return nil }
  return item.object(forKey: kSecAttrAccount) as? String ?? item[kSecAttrLabel as String] as? String
}
