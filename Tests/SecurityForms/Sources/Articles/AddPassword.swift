// swift-format-ignore-file
import Foundation
import Security

struct Login {
  var name: String
  var password: String
}

enum LoginError: Error {
  case missing
  case unreadable
  case other(OSStatus)
}

struct LoginStore {
  static let host = "mail.example"

  func add(_ login: Login) throws {
    let secret = login.password.data(using: String.Encoding.utf8)!
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrAccount as String: login.name,
                                kSecAttrServer as String: LoginStore.host,
                                kSecValueData as String: secret]
    let status = SecItemAdd(query as CFDictionary, nil)
    guard status == errSecSuccess else { throw LoginError.other(status) }
  }
}
