import LatchkeyKeybag
import LatchkeySodium

/// Access control of items: what is asked for, and what a person gave.
extension Vault {
  /// How the passphrase of an item becomes a key; nil for an item without one.
  public func passphraseDerivation(ofItem id: Int64) throws(VaultError) -> PassphraseDerivation? {
    try access(of: try locate(id).row)?.derivation
  }

  /// What lets one item be read or written, after a person met its conditions.
  ///
  /// - Parameter passphraseKey: what the item's passphrase gave; nil for an item without one.
  /// - Returns: nil where the passphrase is another one.
  public func grant(item id: Int64, passphraseKey: consuming Key? = nil) throws(VaultError) -> AccessGrant? {
    let item = try locate(id)
    guard let opened = try metadata(item), item.key.secretKey != nil else { throw item.key.absence(on: share) }
    try checkIsNotLockedByItself(item)
    let flags = opened.metadata.flags
    guard try control(opened.metadata, of: item.row).needsPassphrase else {
      return AccessGrant(item: id, flags: flags, revision: opened.revision, passphraseKey: nil)
    }
    guard let key = passphraseKey.take() else { throw .needsGrant }
    let held = HeldKey(key)
    let itemKey = try itemKey(item, opened)
    // The row's check sum was right, and so was the item key's wrapping: what does not open is another passphrase.
    do throws(VaultError) { _ = try open(item, opened, itemKey, held).count } catch {
      if case .damaged = error { return nil }
      throw error
    }
    return AccessGrant(item: id, flags: flags, revision: opened.revision, passphraseKey: held)
  }

  /// The item with just these attributes, which a new one would take the place of, where that asks for something.
  public func guardedItem(toReplace attributes: [String: String], in collection: Int64) throws(VaultError) -> Int64? {
    let index = try readyIndex()
    let token = try index.setToken(of: try index.tokens(of: attributes))
    let same = try reading { store throws(VaultError) in try store.places(withTokens: [token]) }
    // The same one that createItem(in:) takes.
    guard let first = same.first(where: { $0.collection == collection }), first.isGuarded else { return nil }
    return first.item
  }

  /// Gives an item other access control, and another class where one is named. Its secret is sealed anew, as it is bound
  /// to the flags.
  ///
  /// - Parameters:
  ///   - passphrase: a new one; nil leaves the one that there is, where the item still needs one.
  ///   - fingers: those that are enrolled now; nil leaves what it remembers.
  ///   - granted: what the item asks for until now: nothing is weakened without it.
  public func setAccess(
    ofItem id: Int64, _ control: AccessControl, accessibility: AccessibilityClass? = nil,
    passphrase: consuming NewItemPassphrase? = nil, fingers: FingerSet? = nil, granted: AccessGrant? = nil
  ) throws(VaultError) {
    var item = try locate(id)
    guard let opened = try metadata(item) else { throw item.key.absence(on: share) }
    try check(granted, opens: item, opened)
    let secret = try openSecret(item, opened, passphraseKey: granted?.passphraseKey)
    var next = opened.metadata
    next.flags = control.rawValue
    if let fingers { next.fingers = fingers }
    let held = try bind(&item, to: control, passphrase: passphrase.take(), kept: granted?.passphraseKey)
    try rewrite(item, next, secret: secret, accessibility: accessibility, passphraseKey: held)
  }

  /// What the row says of its access control.
  func access(of row: ItemRow) throws(VaultError) -> ItemAccess? {
    guard let column = row.access else { return nil }
    do throws(VaultError) { return try ItemAccess(decoding: column, ofItem: row.id) } catch {
      note(error)
      throw error
    }
  }

  /// What sealed flags mean.
  func control(_ metadata: ItemMetadata, of row: ItemRow) throws(VaultError) -> AccessControl {
    let passphrase = try access(of: row).map { $0.derivation != nil }
    // Whoever writes into the row can say what he likes there; the flags are sealed.
    guard let control = try? AccessControl(rawValue: metadata.flags),
      passphrase.map({ $0 == control.needsPassphrase && control.asksForAnything }) ?? !control.asksForAnything
    else {
      let error = VaultError.damaged("vault.db: the access control of item \(row.id) is damaged")
      note(error)
      throw error
    }
    return control
  }

  /// Refuses an item that asks for something that was not given.
  ///
  /// - Throws: ``VaultError/needsGrant``.
  func check(
    _ granted: AccessGrant?, opens item: Located, _ opened: (metadata: ItemMetadata, revision: [UInt8])
  ) throws(VaultError) {
    guard try control(opened.metadata, of: item.row).asksForAnything else { return }
    guard let granted, granted.item == item.row.id, granted.flags == opened.metadata.flags,
      granted.revision == opened.revision
    else { throw .needsGrant }
  }

  /// Puts access control into a row that is about to be written.
  ///
  /// - Parameters:
  ///   - passphrase: a new one.
  ///   - kept: the key of the one that it has.
  /// - Returns: the key that its secret is sealed under as well.
  func bind(
    _ item: inout Located, to control: AccessControl, passphrase: consuming NewItemPassphrase?, kept: HeldKey? = nil
  ) throws(VaultError) -> HeldKey? {
    guard control.needsPassphrase else {
      item.row.access = control.asksForAnything ? ItemAccess.conditions.encoded : nil
      return nil
    }
    guard let new = passphrase.take() else {
      guard let kept, try access(of: item.row)?.derivation != nil else { throw .needsGrant }
      return kept
    }
    item.row.access = ItemAccess.passphrase(new.derivation).encoded
    return HeldKey(new.takeKey())
  }
}
