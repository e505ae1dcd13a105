// Keeps a password for which the person is asked each time that it is read.
//
//   demand-presence store USER      the password is the first line of the input
//   demand-presence read USER

import Foundation
import Security

@main
enum DemandPresence {
  static let server = "bank.example"

  static func store(_ password: Data, for user: String) throws -> OSStatus {
    var error: Unmanaged<CFError>?
    let access = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, &error)
    if let error { throw error.takeRetainedValue() as any Error }

    // No kSecAttrAccessible beside it: the access control says that too.
    let item: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrAccount as String: user,
      kSecAttrServer as String: server,
      kSecAttrAccessControl as String: access as Any,
      kSecValueData as String: password,
    ]
    return SecItemAdd(item as CFDictionary, nil)
  }

  static func read(_ user: String) -> OSStatus {
    let query: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrAccount as String: user,
      kSecAttrServer as String: server,
      kSecUseOperationPrompt as String: "Transfer money",
      kSecReturnData as String: true,
    ]
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    if let password = found as? Data { print(String(decoding: password, as: UTF8.self)) }
    return status
  }

  static func main() {
    let words = CommandLine.arguments.dropFirst()
    do {
      let status =
        switch (words.first, words.count) {
        case ("store", 2): try store(Data((readLine() ?? "").utf8), for: words[2])
        case ("read", 2): read(words[2])
        default: end("usage: demand-presence store USER | read USER")
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
