// swift-format-ignore-file
import Foundation
import Security

extension LoginStore {
  func update(_ login: Login) throws {
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrServer as String: LoginStore.host]
    let secret = login.password.data(using: String.Encoding.utf8)!
    let attributes: [String: Any] = [kSecAttrAccount as String: login.name,
                                     kSecValueData as String: secret]
    let status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
    guard status != errSecItemNotFound else { throw LoginError.missing }
    guard status == errSecSuccess else { throw LoginError.other(status) }
  }
}
