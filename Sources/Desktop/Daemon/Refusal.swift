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
      throw Refusal(reason: error == .isLocked ? "it is locked: run 'latchkey unlock' first" : error.explanation)
    }
  }
}
