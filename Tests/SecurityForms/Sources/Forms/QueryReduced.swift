// swift-format-ignore-file
import Foundation
import Security

func queryReduced(_ parts: [(CFString, Any)]) -> OSStatus {
  let query = parts.reduce(into: [String: Any]()) { $0[$1.0 as String] = $1.1 }
  return SecItemCopyMatching(query as CFDictionary, nil)
}
