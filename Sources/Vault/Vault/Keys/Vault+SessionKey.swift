import LatchkeyKeybag

/// Tier key C alone, of the newest key epoch, for a login in which nobody gave a password.
extension Vault {
  /// Whether this is tier key C of this vault's keybag.
  public func recognises(_ session: borrowing SessionKey) throws(KeybagError) -> Bool {
    guard let keybag else { throw .missing }
    return try keybag.recognises(session)
  }

  /// Whether ``unlock(_:)`` could use this key: there is a database, and the key opens its index. Changes nothing.
  ///
  /// - Throws: ``VaultError/isLocked`` if the database may still depend on former keys, which only a password brings.
  public func check(_ session: borrowing SessionKey) throws(VaultError) {
    refresh()
    guard let store = database.store else {
      healing.noteRemedy(session.key)
      throw database.problem ?? .notCreated
    }
    do throws(VaultError) { _ = try rotation.openIndex(session.key, [], store) } catch {
      guard case .damaged = error else { throw error }
      if keybag?.epochs.count ?? 1 > 1 { throw .isLocked }
      throw .unavailable(.vault(.notTogether))
    }
  }

  /// Takes the key over into memory. It must be this vault's: ``recognises(_:)``. Explicit locks of collections stay.
  ///
  /// The generations of keybag and database are compared with the remembered generations, but not noted: only this key of the
  /// keybag is known to be genuine.
  public func unlock(_ session: borrowing SessionKey) throws(VaultError) {
    try check(session)
    // ``recognises(_:)`` read the keybag again, so the key must be of the epoch that the keybag now names as the newest.
    guard (try? recognises(session)) == true else { throw .unavailable(.of(.keybag, .keybag(.changed))) }
    try takeOver(session.key, unlocked: nil, former: [], liftingLocksOf: [], notesGenerations: false)
    olderFiles.compareGenerations()
  }
}
