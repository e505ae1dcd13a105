// swift-format-ignore-file
import Foundation
import Security

func resultCFStringKeys(_ result: AnyObject?) -> Data? {
  guard let item = result as? [CFString: Any] else { return nil }
  return item[kSecValueData] as? Data
}
