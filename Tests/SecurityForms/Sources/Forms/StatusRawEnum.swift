// swift-format-ignore-file
import Foundation
import Security

enum StatusRaw: OSStatus, CaseIterable {
  case success = 0
  case duplicate = -25299
  case missing = -25300

  var matches: Bool { rawValue == errSecSuccess || rawValue == errSecDuplicateItem || rawValue == errSecItemNotFound }
}
