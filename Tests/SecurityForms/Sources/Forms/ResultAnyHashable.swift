// swift-format-ignore-file
import Foundation
import Security

func resultAnyHashable(_ result: AnyObject?) -> String? {
  let item = result as? [AnyHashable: Any]
  return item?[kSecAttrAccount] as? String ?? item?[kSecAttrAccount as String] as? String
}
