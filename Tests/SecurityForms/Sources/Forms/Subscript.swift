// swift-format-ignore-file
import Foundation
import Security

final class Subscript {
  subscript(account: String) -> String? {
    get {
      var result: AnyObject?
      let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecReturnData: true]
      guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess, let data = result as? Data else { return nil }
      return String(data: data, encoding: .utf8)
    }
    set {
      let query = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account] as [CFString: Any]
      SecItemDelete(query as CFDictionary)
      if let newValue { SecItemAdd(query.merging([kSecValueData: Data(newValue.utf8)]) { $1 } as CFDictionary, nil) }
    }
  }
}
