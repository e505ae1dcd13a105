// swift-format-ignore-file
import Foundation
import Security

func resultGeneric<Value>(_ type: Value.Type) throws -> Value? {
  var result: CFTypeRef?
  let status = SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary, &result)
  guard status == errSecSuccess else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(status)) }
  return result as? Value
}
