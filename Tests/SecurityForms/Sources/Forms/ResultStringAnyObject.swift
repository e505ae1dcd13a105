// swift-format-ignore-file
import Foundation
import Security

func resultStringAnyObject(_ result: AnyObject?) -> String? {
  guard let item = result as? [String: AnyObject], let data = item[kSecValueData as String] as? Data else { return nil }
  return String(data: data, encoding: .utf8)
}
