// swift-format-ignore-file
import Foundation
import Security

extension LoginStore {
  func delete() throws {
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrServer as String: LoginStore.host]
    let status = SecItemDelete(query as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else { throw LoginError.other(status) }
  }
}
