import Keybag
import Sodium

/// Access control of items: what is asked for, and what a person gave.
extension Vault {
  /// How the passphrase of an item becomes a key; nil for an item without one.
  public func passphraseDerivation(ofItem id: Int64) throws(VaultError) -> PassphraseDerivation? {
    try access(of: try locate(id).row)?.passphrase?.derivation
  }

  /// What lets one item be read or written, after a person met its conditions.
  ///
  /// - Parameter passphraseKey: what the item's passphrase gave; nil for an item without one.
  /// - Returns: nil where the passphrase is another one.
  public func grant(item id: Int64, passphraseKey: consuming Key? = nil) throws(VaultError) -> AccessGrant? {
    let item = try locate(id)
    guard let passphrase = try access(of: item.row)?.passphrase else {
      return AccessGrant(item: id, passphraseKey: nil)
    }
    guard let key = passphraseKey.take() else { throw .needsGrant }
    let held = HeldKey(key)
    guard try passphrase.isRight(held.key, vault: item.seal.vault, item: item.row.uuid) else { return nil }
    return AccessGrant(item: id, passphraseKey: held)
  }

  /// Gives an item other access control. Its secret is sealed anew, as it is bound to the flags.
  ///
  /// - Parameters:
  ///   - passphrase: a new one; nil leaves the one that there is, where the item still needs one.
  ///   - granted: what the item asks for until now: nothing is weakened without it.
  public func setAccess(
    ofItem id: Int64, _ control: AccessControl, passphrase: consuming NewItemPassphrase? = nil,
    granted: AccessGrant? = nil
  ) throws(VaultError) {
    var item = try locate(id)
    guard let opened = try metadata(item) else { throw item.key.absence(on: share) }
    try check(granted, opens: item, opened.metadata)
    let secret = try openSecret(item, opened, passphraseKey: granted?.passphraseKey)
    var next = opened.metadata
    next.flags = control.rawValue
    let held = try bind(&item, to: control, passphrase: passphrase.take(), kept: granted?.passphraseKey)
    try write(item, next, secret: secret, passphraseKey: held)
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
    let passphrase = try access(of: row).map { $0.passphrase != nil }
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
  func check(_ granted: AccessGrant?, opens item: Located, _ metadata: ItemMetadata) throws(VaultError) {
    guard try control(metadata, of: item.row).asksForAnything else { return }
    guard let granted, granted.item == item.row.id else { throw .needsGrant }
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
      guard let kept, try access(of: item.row)?.passphrase != nil else { throw .needsGrant }
      return kept
    }
    let (vault, uuid) = (item.seal.vault, item.row.uuid)
    do throws(SodiumError) {
      let passphrase = try ItemPassphrase(new.derivation, key: new.key, vault: vault, item: uuid)
      item.row.access = ItemAccess.passphrase(passphrase).encoded
      return HeldKey(try new.key.duplicate())
    } catch { throw .outOfMemory }
  }
}
