import LatchkeyVault

/// Holds back two things until the whole database was verified: an answer that something is missing, and a write that adds
/// something that may exist already. Until then damage could hide an existing item.
final class VerificationGate {
  private let vault: Vault
  private var waiting: [() -> Void] = []

  init(_ vault: Vault) { self.vault = vault }

  /// Whether the vault was verified.
  var isVerified: Bool { vault.isVerified }

  /// Runs `action` when the whole database was verified; at once, if it was already.
  func whenVerified(_ action: @escaping () -> Void) {
    if isVerified { action() } else { waiting.append(action) }
  }

  /// The vault's verification has come to its end.
  func ended() {
    let actions = waiting
    waiting = []
    for action in actions { action() }
  }

  /// The bus is lost, and with it every waiting client.
  func disconnect() { waiting = [] }
}
