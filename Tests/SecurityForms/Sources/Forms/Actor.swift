// swift-format-ignore-file
import Foundation
import Security

actor Vault {
  func read() async throws -> Data? {
    let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true]
    var result: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return nil }
    return result as? Data
  }
}

func actor(_ access: SecAccessControl) -> Task<OSStatus, Never> {
  Task.detached { SecItemDelete([kSecClass: kSecClassGenericPassword, kSecAttrAccessControl: access] as CFDictionary) }
}
