// Keeps passwords by service and account, with the layer PasswordKeychain: one accessibility for the whole program.
//
//   passwords set SERVICE ACCOUNT      the password is the first line of the input
//   passwords get SERVICE ACCOUNT
//   passwords delete SERVICE ACCOUNT
//   passwords list SERVICE

import Foundation
import LatchkeyKeychain

@main
enum Passwords {
  static func main() {
    // The class is set before anything is stored, because mail comes in while the screen is locked.
    PasswordKeychain.accessibilityType = .afterFirstUnlock

    let words = CommandLine.arguments.dropFirst()
    do throws(KeychainError) {
      switch (words.first, words.count) {
      case ("set", 3):
        try PasswordKeychain.setPassword(readLine() ?? "", forService: words[2], account: words[3])
      case ("get", 3):
        print(try PasswordKeychain.password(forService: words[2], account: words[3]))
      case ("delete", 3):
        try PasswordKeychain.deletePassword(forService: words[2], account: words[3])
      case ("list", 2):
        for account in try PasswordKeychain.accounts(forService: words[2]) { print(account) }
      default:
        end("usage: passwords set SERVICE ACCOUNT | get SERVICE ACCOUNT | delete SERVICE ACCOUNT | list SERVICE")
      }
    } catch {
      end(error.message)
    }
  }

  static func end(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
  }
}
