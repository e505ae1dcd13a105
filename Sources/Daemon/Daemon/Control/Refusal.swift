import Glibc
import LatchkeyReasons
import LatchkeyVault

/// Why the daemon refuses a peer's request.
struct Refusal: Error {
  let reason: Reason

  init(_ reason: Reason) { self.reason = reason }
}

extension Refusal {
  static func vault<Result: ~Copyable>(
    _ body: () throws(VaultError) -> Result
  ) throws(Refusal) -> Result {
    do throws(VaultError) { return try body() } catch {
      switch error {
      case .isLocked: throw Refusal(.refusal(.lockedBefore))
      case .notCreated where Vault.isSystemAccount(getuid()): throw Refusal(.vault(.systemAccount))
      default: throw Refusal(error.reason)
      }
    }
  }
}
