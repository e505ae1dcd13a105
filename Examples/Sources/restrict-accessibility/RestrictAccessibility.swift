// Keeps a password that can be read while the session is unlocked, and says of each that is there when it can be.
//
//   restrict-accessibility store USER      the password is the first line of the input
//   restrict-accessibility list

import Foundation
import Security

@main
enum RestrictAccessibility {
  static let server = "bank.example"

  static func store(_ password: Data, for user: String) -> OSStatus {
    // WhenUnlocked is what an item gets anyway. A program that works behind the locked screen names AfterFirstUnlock.
    let item: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrAccount as String: user,
      kSecAttrServer as String: server,
      kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
      kSecValueData as String: password,
    ]
    return SecItemAdd(item as CFDictionary, nil)
  }

  static func list() -> OSStatus {
    let query: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrServer as String: server,
      kSecMatchLimit as String: kSecMatchLimitAll,
      kSecReturnAttributes as String: true,
    ]
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    for item in found as? [[String: Any]] ?? [] {
      let user = item[kSecAttrAccount as String] as? String ?? "?"
      let accessible = item[kSecAttrAccessible as String] as? String ?? "?"
      print("\(user): \(accessible == kSecAttrAccessibleWhenUnlocked as String ? "when unlocked" : accessible)")
    }
    return status
  }

  static func main() {
    let words = CommandLine.arguments.dropFirst()
    let status =
      switch (words.first, words.count) {
      case ("store", 2): store(Data((readLine() ?? "").utf8), for: words[2])
      case ("list", 1): list()
      default: end("usage: restrict-accessibility store USER | list")
      }
    if status != errSecSuccess { end(SecCopyErrorMessageString(status, nil) as String? ?? "\(status)") }
  }

  static func end(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
  }
}
