// swift-format-ignore-file
import Foundation
import Security

func resultNSArray(_ result: AnyObject?) -> [Data] {
  guard let items = result as? NSArray else { return [] }
  return items.compactMap { ($0 as? NSDictionary)?[kSecValuePersistentRef] as? Data }
}
