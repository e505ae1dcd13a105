// Keeps access tokens of a service, with the layer Keychain.
//
//   tokens set ACCOUNT        the token is the first line of the input
//   tokens guard ACCOUNT      the same, and the person is asked each time that it is read
//   tokens get ACCOUNT
//   tokens delete ACCOUNT
//   tokens list

import Foundation
import LatchkeyKeychain

@main
enum Tokens {
  static let keychain = Keychain(service: "org.latchkey.examples.tokens", accessibility: .afterFirstUnlock)

  static func main() async {
    let words = CommandLine.arguments.dropFirst()
    do throws(KeychainError) {
      switch (words.first, words.count) {
      case ("set", 2):
        try await keychain.set(readLine() ?? "", for: words[2])
      case ("guard", 2):
        try await keychain.set(readLine() ?? "", for: words[2], accessibility: .whenUnlocked, asking: .userPresence)
      case ("get", 2):
        print(try await keychain.getString(words[2], reason: "Show the token of \(words[2])"))
      case ("delete", 2):
        try await keychain.delete(words[2])
      case ("list", 1):
        for account in try await keychain.accounts() { print(account) }
      default:
        end("usage: tokens set ACCOUNT | guard ACCOUNT | get ACCOUNT | delete ACCOUNT | list")
      }
    } catch {
      switch error {
      case .notFound: end("There is no such token.")
      // One case for several causes, such as a locked screen or an unanswered prompt. The message names the one and the remedy.
      case .locked: end("Not now. \(error.message)")
      case .cancelled: end("Then not.")
      default: end(error.message)
      }
    }
  }

  static func end(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
  }
}
