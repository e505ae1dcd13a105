// swift-format-ignore-file
import Foundation
import Security

func resultDictionaries(_ result: CFTypeRef?) -> [String] {
  guard let items = result as? [[String: Any]] else { return [] }
  return items.compactMap { $0[kSecAttrAccount as String] as? String }
}
