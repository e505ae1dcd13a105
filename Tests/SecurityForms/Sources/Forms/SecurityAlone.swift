// swift-format-ignore-file
import Security

func securityAlone() -> OSStatus {
  let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "anna"]
  return SecItemCopyMatching(query as CFDictionary, nil)
}
