// Keeps a password that needs a finger and a passphrase of its own to be read, and a login that has a password.
//
//   require-passphrase store USER      the password is the first line of the input
//   require-passphrase read USER
//
// The next line of the input is the passphrase. If there is none, the person is asked for it.

import Foundation
import LocalAuthentication
import Security

@main
enum RequirePassphrase {
  static let server = "bank.example"

  static func store(_ password: Data, for user: String, passphrase: String?) throws -> OSStatus {
    var error: Unmanaged<CFError>?
    let access = SecAccessControlCreateWithFlags(
      nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, [.biometryAny, .applicationPassword], &error)
    if let error { throw error.takeRetainedValue() as any Error }

    let item: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrAccount as String: user,
      kSecAttrServer as String: server,
      kSecAttrAccessControl as String: access as Any,
      kSecUseAuthenticationContext as String: context(with: passphrase),
      kSecValueData as String: password,
    ]
    return SecItemAdd(item as CFDictionary, nil)
  }

  static func read(_ user: String, passphrase: String?) -> OSStatus {
    let query: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrAccount as String: user,
      kSecAttrServer as String: server,
      kSecUseAuthenticationContext as String: context(with: passphrase),
      kSecReturnData as String: true,
    ]
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    if let password = found as? Data { print(String(decoding: password, as: UTF8.self)) }
    return status
  }

  static func context(with passphrase: String?) -> LAContext {
    let context = LAContext()
    context.localizedReason = "Transfer money"
    if let passphrase { context.setCredential(Data(passphrase.utf8), type: .applicationPassword) }
    return context
  }

  static func main() {
    let words = CommandLine.arguments.dropFirst()
    do {
      let status: OSStatus
      switch (words.first, words.count) {
      case ("store", 2):
        let password = readLine() ?? ""
        status = try store(Data(password.utf8), for: words[2], passphrase: readLine())
      case ("read", 2):
        status = read(words[2], passphrase: readLine())
      default:
        end("usage: require-passphrase store USER | read USER")
      }
      if status != errSecSuccess { end(SecCopyErrorMessageString(status, nil) as String? ?? "\(status)") }
    } catch {
      end(error.localizedDescription)
    }
  }

  static func end(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
  }
}
