// swift-format-ignore-file
import Foundation
import Security

struct Coded<Value: Codable> {
  func store(_ value: Value) throws -> OSStatus {
    var query = [String: Any]()
    query[kSecClass as String] = kSecClassGenericPassword
    query[kSecValueData as String] = try JSONEncoder().encode(value)
    query[kSecAttrService as String] = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    query[kSecAttrModificationDate as String] = Date()
    return SecItemAdd(query as CFDictionary, nil)
  }
}
