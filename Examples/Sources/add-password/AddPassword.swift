// Keeps a login for a server, and finds it again by the server alone.
//
//   add-password store USER      the password is the first line of the input
//   add-password find

import Foundation
import Security

struct Login {
  var user: String
  var password: String
}

enum LoginError: Error {
  case missing
  case unreadable
  case failed(OSStatus)
}

@main
enum AddPassword {
  static let server = "mail.example"

  static func store(_ login: Login) throws(LoginError) {
    let item: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrAccount as String: login.user,
      kSecAttrServer as String: server,
      kSecValueData as String: Data(login.password.utf8),
    ]
    let status = SecItemAdd(item as CFDictionary, nil)
    guard status == errSecSuccess else { throw .failed(status) }
  }

  static func find() throws(LoginError) -> Login {
    let query: [String: Any] = [
      kSecClass as String: kSecClassInternetPassword,
      kSecAttrServer as String: server,
      kSecMatchLimit as String: kSecMatchLimitOne,
      kSecReturnAttributes as String: true,
      kSecReturnData as String: true,
    ]
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    guard status != errSecItemNotFound else { throw .missing }
    guard status == errSecSuccess else { throw .failed(status) }
    guard let item = found as? [String: Any], let user = item[kSecAttrAccount as String] as? String,
      let data = item[kSecValueData as String] as? Data, let password = String(data: data, encoding: .utf8)
    else { throw .unreadable }
    return Login(user: user, password: password)
  }

  static func main() {
    let words = CommandLine.arguments.dropFirst()
    do throws(LoginError) {
      switch (words.first, words.count) {
      case ("store", 2):
        try store(Login(user: words[2], password: readLine() ?? ""))
      case ("find", 1):
        let login = try find()
        print("\(login.user): \(login.password)")
      default:
        end("usage: add-password store USER | find")
      }
    } catch {
      switch error {
      case .missing: end("There is no login for \(server).")
      case .unreadable: end("What is stored for \(server) is no login.")
      case .failed(let status): end(SecCopyErrorMessageString(status, nil) as String? ?? "\(status)")
      }
    }
  }

  static func end(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
  }
}
