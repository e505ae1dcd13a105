// swift-format-ignore-file
import Foundation
import Security

func resultOfAdd(_ secret: Data) -> Data? {
  var reference: CFTypeRef?
  let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecValueData: secret, kSecReturnPersistentRef: true]
  SecItemAdd(query as CFDictionary, &reference)
  let again: [CFString: Any] = [kSecValuePersistentRef: reference as Any, kSecReturnData: true]
  SecItemCopyMatching(again as CFDictionary, &reference)
  return reference as? Data
}
