// swift-format-ignore-file
import Foundation
import Security

extension LoginStore {
  func addWithPassphrase(_ login: Login) throws {
    var error: Unmanaged<CFError>?
    guard let access = SecAccessControlCreateWithFlags(nil,  // the usual allocator
                                                       kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                                                       [.biometryAny, .applicationPassword],
                                                       &error)
    else { throw error!.takeRetainedValue() as Error }
    let query: [String: Any] = [kSecClass as String: kSecClassInternetPassword,
                                kSecAttrAccount as String: login.name,
                                kSecAttrServer as String: LoginStore.host,
                                kSecAttrAccessControl as String: access,
                                kSecValueData as String: Data(login.password.utf8)]
    let status = SecItemAdd(query as CFDictionary, nil)
    guard status == errSecSuccess else { throw LoginError.other(status) }
  }
}
