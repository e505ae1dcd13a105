import Glibc
import LatchkeyVault

/// Why the daemon does not do what a peer asks.
struct Refusal: Error {
  /// For a person.
  let reason: String
}

extension Refusal {
  static func vault<Result: ~Copyable>(
    _ body: () throws(VaultError) -> Result
  ) throws(Refusal) -> Result {
    do throws(VaultError) { return try body() } catch {
      switch error {
      case .isLocked: throw Refusal(reason: "it is locked: run 'latchkey unlock' first")
      case .notCreated where Vault.isSystemAccount(getuid()): throw Refusal(reason: Vault.lackOfSystemAccounts)
      default: throw Refusal(reason: error.explanation)
      }
    }
  }
}
