/// The chains of the tier keys that are in memory, which are the state of the vault. Each chain is at the link after the last
/// collection: new collections get their keys from it.
enum TierChains {
  /// No tier key was taken over, or both were erased.
  case sealed
  /// Tier key C alone.
  case locked(session: KeyChain)
  /// Both chains.
  case unlocked(KeyChain, session: KeyChain)

  /// Tier key A's; nil unless the vault is unlocked.
  var unlocked: KeyChain? {
    guard case .unlocked(let chain, session: _) = self else { return nil }
    return chain
  }

  /// Tier key C's; nil while the vault is sealed.
  var session: KeyChain? {
    switch self {
    case .sealed: nil
    case .locked(let chain), .unlocked(_, session: let chain): chain
    }
  }

  var isUnlocked: Bool { unlocked != nil }

  /// Drops tier key A's.
  mutating func lock() {
    if let session { self = .locked(session: session) }
  }
}
