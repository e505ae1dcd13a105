// swift-format-ignore-file
import Foundation
import LocalAuthentication
import Security

extension LoginStore {
  func addGuarded(_ login: Login) throws {
    let access = SecAccessControlCreateWithFlags(nil,
                                                 kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                                                 .userPresence,
                                                 nil)
    let context = LAContext()
    context.touchIDAuthenticationAllowableReuseDuration = 10
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrAccount as String: login.name,
                                kSecAttrServer as String: LoginStore.host,
                                kSecAttrAccessControl as String: access as Any,
                                kSecUseAuthenticationContext as String: context,
                                kSecValueData as String: login.password.data(using: .utf8)!]
    let status = SecItemAdd(query as CFDictionary, nil)
    guard status == errSecSuccess else { throw LoginError.other(status) }
  }

  func findGuarded() -> (OSStatus, CFTypeRef?) {
    let context = LAContext()
    context.localizedReason = "Read your mail"
    context.interactionNotAllowed = false
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrServer as String: LoginStore.host,
                                kSecMatchLimit as String: kSecMatchLimitOne,
                                kSecUseAuthenticationContext as String: context,
                                kSecReturnData as String: true]
    var item: CFTypeRef?
    return (SecItemCopyMatching(query as CFDictionary, &item), item)
  }
}
