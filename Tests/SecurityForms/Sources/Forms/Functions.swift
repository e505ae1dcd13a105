// swift-format-ignore-file
import Foundation
import Security

struct Functions: Sendable {
  var add: @Sendable (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus = { SecItemAdd($0, $1) }
  var copy: @Sendable (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus = SecItemCopyMatching
  var update: @Sendable (CFDictionary, CFDictionary) -> OSStatus = SecItemUpdate
  var delete: @Sendable (CFDictionary) -> OSStatus = SecItemDelete
}
