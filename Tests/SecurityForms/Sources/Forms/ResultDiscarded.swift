// swift-format-ignore-file
import Foundation
import Security

func resultDiscarded(_ query: [String: Any]) {
  SecItemDelete(query as CFDictionary)
  SecItemAdd(query as CFDictionary, nil)
  SecItemUpdate(query as CFDictionary, [kSecValueData as String: Data()] as CFDictionary)
  SecItemCopyMatching(query as CFDictionary, nil)
}
