import LatchkeyKeybag
import LatchkeySodium

/// Passphrases of collections. The vault sees only what Argon2id made of them.
extension Vault {
  /// How the collection's passphrase becomes a key; nil where it has none.
  public func passphraseDerivation(ofCollection id: Int64) throws(VaultError) -> PassphraseDerivation? {
    try collection(id).passphrase?.derivation
  }

  /// Opens a collection by the key that a passphrase gave, until it is locked or the session ends.
  ///
  /// - Returns: whether it is the right one.
  /// - Throws: ``VaultError/isLocked`` before the first login: the passphrase comes on top of it.
  public func openCollection(_ id: Int64, passphraseKey key: borrowing Key) throws(VaultError) -> Bool {
    let collection = try collection(id)
    guard collection.session != nil else { throw .isLocked }
    let vault = try database.ready().vault
    guard try collection.open(passphraseKey: key, share: keys.share, vault: vault) else { return false }
    // Kinds of items that the vault did not have when the collection was last open, and new keys in the place of those
    // that were changed meanwhile.
    if collection.unlocked != nil, !isDamaged {
      try whereThereIsRoom { () throws(VaultError) in try renewKeys(indexUnder: nil) }
      try whereThereIsRoom { () throws(VaultError) in
        let made = try database.writing { store throws(VaultError) in
          try collection.makeMissingClasses(share: keys.share, in: store)
        }
        collection.adopt(made)
      }
    }
    return true
  }

  /// Gives a collection a passphrase, in the place of the one it had. Its class keys are wrapped anew, so that the login
  /// alone opens none of them any more.
  ///
  /// - Throws: ``VaultError/isLocked`` unless the collection and the session are unlocked; ``VaultError/otherDevice`` when it
  ///   has items of another device, whose keys are missing here.
  public func setPassphrase(
    ofCollection id: Int64, key: borrowing Key, _ derivation: PassphraseDerivation
  ) throws(VaultError) {
    let collection = try protectable(id)
    try protect(
      collection,
      try collection.protection(under: key, derivation, share: keys.share, vault: try database.ready().vault))
  }

  /// Whether ``setPassphrase(ofCollection:key:_:)`` would be possible now.
  ///
  /// - Throws: the errors that it would throw.
  public func checkPassphraseMayChange(ofCollection id: Int64) throws(VaultError) {
    _ = try database.writable()
    _ = try protectable(id).unprotected(share: keys.share, vault: try database.ready().vault)
  }

  /// Takes the passphrase away again: the login opens the collection.
  public func removePassphrase(ofCollection id: Int64) throws(VaultError) {
    let collection = try protectable(id)
    guard collection.passphrase != nil else { return }
    try protect(collection, try collection.unprotected(share: keys.share, vault: try database.ready().vault))
  }

  /// The first collection is the login's: programs that nobody looks at keep their secrets there.
  private func protectable(_ id: Int64) throws(VaultError) -> OpenCollection {
    guard id != 1 else { throw .unavailable(.vault(.loginHasNone)) }
    let collection = try collection(id)
    guard !collection.isLockedByItself, collection.unlocked != nil else { throw .isLocked }
    return collection
  }

  private func protect(_ collection: OpenCollection, _ protection: OpenCollection.Protection) throws(VaultError) {
    // Generations have the same keys, wrapped as before. First, as an interruption between the two would leave them.
    if protection.row.passphrase != nil { try history.removeAll() }
    try database.writing { store throws(VaultError) in
      try store.update(protection.row)
      for row in protection.classes { try store.update(row) }
    }
    collection.adopt(protection)
    // The old wrapping is in the log until it is emptied.
    settle()
  }
}
