import LatchkeyVault

/// Holds back what must not happen before the whole database was looked at: an answer that says that something is missing,
/// and a write that would add what may be there. Damage could hide it until then.
final class VerificationGate {
  private let vault: Vault
  private var waiting: [() -> Void] = []

  init(_ vault: Vault) { self.vault = vault }

  /// Whether it was looked at.
  var isVerified: Bool { vault.isVerified }

  /// Runs `action` when the whole database was looked at: at once, where it was.
  func whenVerified(_ action: @escaping () -> Void) {
    if isVerified { action() } else { waiting.append(action) }
  }

  /// The vault's verification has come to its end.
  func ended() {
    let actions = waiting
    waiting = []
    for action in actions { action() }
  }

  /// The bus is lost: nobody waits any more.
  func disconnect() { waiting = [] }
}
