// swift-format-ignore-file
import Foundation
import LocalAuthentication
import Security

func contextInQuery() -> OSStatus {
  let context = LAContext()
  context.localizedReason = "Pay"
  context.interactionNotAllowed = true
  defer { context.invalidate() }
  let query: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword, kSecUseAuthenticationContext as String: context,
    kSecUseAuthenticationUI as String: kSecUseAuthenticationUISkip, kSecUseOperationPrompt as String: "Pay",
  ]
  return SecItemCopyMatching(query as CFDictionary, nil)
}
