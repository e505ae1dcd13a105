// swift-format-ignore-file
import Foundation
import Security

extension LoginStore {
  func find() throws -> Login {
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrServer as String: LoginStore.host,
                                kSecMatchLimit as String: kSecMatchLimitOne,
                                kSecReturnAttributes as String: true,
                                kSecReturnData as String: true]
    var item: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &item)
    guard status != errSecItemNotFound else { throw LoginError.missing }
    guard status == errSecSuccess else { throw LoginError.other(status) }
    guard let found = item as? [String : Any],
      let data = found[kSecValueData as String] as? Data,
      let password = String(data: data, encoding: String.Encoding.utf8),
      let name = found[kSecAttrAccount as String] as? String
    else { throw LoginError.unreadable }
    return Login(name: name, password: password)
  }
}
