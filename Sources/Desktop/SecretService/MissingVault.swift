import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// What clients see while there is no vault yet: the collection that it will begin with, locked and empty. So they have it
/// unlocked before they store something, and the answer to that prompt creates the vault.
extension SecretService {
  /// Whether there is no vault, as the files are now. Then nothing is stored, and nothing can be missed.
  var vaultIsMissing: Bool {
    guard !vault.hasDatabase else { return false }
    delegate.lookAgain()
    return vault.isMissing
  }
}

/// A collection that a client wanted before there was a vault.
final class WaitingCollection {
  let label: String
  let alias: String
  /// Where it is, once it is made.
  var made: CollectionPlace?

  init(label: String, alias: String) {
    self.label = label
    self.alias = alias
  }
}

extension SecretService {
  /// Makes a collection that waits, where that can be done now.
  ///
  /// - Returns: what a person has to be asked first; nil where it was made, or cannot be.
  func make(_ waiting: WaitingCollection) -> Question? {
    guard waiting.made == nil else { return nil }
    if vault.hasNoDatabaseYet { return vault.awaitsPassword ? .login : nil }
    do throws(VaultError) {
      if !waiting.alias.isEmpty, let present = try vault.alias(waiting.alias) {
        waiting.made = .vault(present)
      } else {
        let made = try vault.createCollection(
          label: waiting.label, alias: waiting.alias.isEmpty ? nil : waiting.alias)
        waiting.made = .vault(made)
        collectionAdded(.vault(made))
      }
      return nil
    } catch {
      if error == .isLocked { return .login }
      Journal.log(.warning, "a collection was not made after its prompt: \(error.explanation)")
      return nil
    }
  }
}
