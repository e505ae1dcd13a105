// swift-format-ignore-file
import Foundation
import Security

class StaticQuery {
  static let shared = StaticQuery()
  static var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
  var lastStatus: OSStatus = noErr

  func delete() { lastStatus = SecItemDelete(StaticQuery.query as CFDictionary) }
}
