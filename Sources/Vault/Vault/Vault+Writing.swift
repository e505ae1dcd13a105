import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Versions of an item: sealed first, then written.
extension Vault {
  /// Gives an item that can be read a new secret.
  public func setSecret(
    ofItem id: Int64, _ secret: borrowing SecureBytes, contentType: String, granted: AccessGrant? = nil
  ) throws(VaultError) {
    let item = try locate(id)
    var next = try readable(item, granted)
    next.contentType = contentType
    // Not under keys that were changed since it was stored.
    try rewrite(item, next, secret: secret, accessibility: nil, passphraseKey: granted?.passphraseKey)
  }

  /// Changes label or attributes, and the class where one is named. The secret stays as it is.
  ///
  /// - Throws: ``VaultError/isLocked`` while the item is locked.
  public func update(
    item id: Int64, accessibility: AccessibilityClass? = nil, granted: AccessGrant? = nil,
    _ change: (inout ItemMetadata) -> Void
  ) throws(VaultError) {
    try write(try updated(item: id, accessibility: accessibility, granted: granted, change))
  }

  /// The row of an item with other label or attributes, or in another class; see
  /// ``update(item:accessibility:granted:_:)``.
  func updated(
    item id: Int64, accessibility: AccessibilityClass?, granted: AccessGrant?, _ change: (inout ItemMetadata) -> Void
  ) throws(VaultError) -> ItemRow {
    let item = try locate(id)
    try checkMayChange(item.key, in: item.collection)
    try checkIsNotLockedByItself(item)
    guard let old = try metadata(item) else { throw item.key.absence(on: share) }
    // Its label is what a person is asked by: whoever could change that could have them agree to something else.
    try check(granted, opens: item, old)
    var next = old.metadata
    change(&next)
    next.flags = old.metadata.flags
    try next.checkSize()
    if let accessibility, accessibility != item.key.row.accessibility {
      try checkMayMove(item, to: accessibility)
      let secret = try openSecret(item, old, passphraseKey: granted?.passphraseKey)
      return try rewritten(
        item, next, secret: secret, accessibility: accessibility, passphraseKey: granted?.passphraseKey)
    }
    return try relabelled(item, next, revision: old.revision)
  }

  /// Refuses another class for an item that asks for something.
  ///
  /// - Throws: ``VaultError/keepsItsAccess``.
  func checkMayMove(_ item: Located, to accessibility: AccessibilityClass) throws(VaultError) {
    guard item.row.access == nil || accessibility == item.key.row.accessibility else { throw .keepsItsAccess }
  }

  /// Writes a new version of an item that can be read, in another class where one is named.
  func rewrite(
    _ item: Located, _ metadata: ItemMetadata, secret: borrowing SecureBytes, accessibility: AccessibilityClass?,
    passphraseKey: HeldKey?
  ) throws(VaultError) {
    try write(
      try rewritten(item, metadata, secret: secret, accessibility: accessibility, passphraseKey: passphraseKey))
  }

  /// The row of that version.
  func rewritten(
    _ item: Located, _ metadata: ItemMetadata, secret: borrowing SecureBytes, accessibility: AccessibilityClass?,
    passphraseKey: HeldKey?
  ) throws(VaultError) -> ItemRow {
    let accessibility = accessibility ?? item.key.row.accessibility
    guard accessibility != item.key.row.accessibility || item.collection.isOutdated(item.key) else {
      return try sealed(item, metadata, secret: secret, passphraseKey: passphraseKey)
    }
    try checkPasscode(for: accessibility)
    guard let key = item.collection.current(accessibility, share: share), key.secretKey != nil else {
      throw .isLocked
    }
    var row = item.row
    row.classKey = key.row.id
    let moved = Located(
      row: row, collection: item.collection, key: key,
      seal: ItemSeal(
        vault: item.seal.vault, collection: item.seal.collection, accessibility: accessibility, item: row.uuid))
    return try sealed(moved, metadata, secret: secret, passphraseKey: passphraseKey)
  }

  /// The row with `metadata` and `secret` sealed into it.
  func sealed(
    _ item: consuming Located, _ metadata: ItemMetadata, secret: borrowing SecureBytes, passphraseKey: HeldKey?
  ) throws(VaultError) -> ItemRow {
    _ = try writable()
    try metadata.checkSize()
    guard !metadata.asksForFingers || metadata.fingers?.isEmpty == false else {
      throw .noFingerEnrolled
    }
    guard let metadataKey = item.key.metadataKey else { throw .isLocked }
    let sealed = try item.seal.seal(
      secret,
      ItemSeal.Access(flags: metadata.flags, column: item.row.access ?? [], passphraseKey: passphraseKey))
    item.row.modified = max(Process.time, item.row.created)
    item.row.secret = sealed.secret
    item.row.metadata = item.seal.metadata(
      metadata, revision: sealed.revision, created: item.row.created, modified: item.row.modified,
      key: metadataKey.key)
    item.row.tokens = try readyIndex().column(for: metadata.attributes)
    if let classKey = item.key.secretKey {
      item.row.form = .wrapped
      item.row.lockedTag = nil
      item.row.itemKey = item.seal.wrap(sealed, flags: metadata.flags, classKey: classKey.key)
    } else {
      guard item.key.row.accessibility.acceptsWhileLocked, item.key.publicKeyIsGenuine,
        let publicKey = item.key.row.publicKey, let session = item.collection.session
      else { throw .isLocked }
      item.row.form = .storedWhileLocked
      item.row.itemKey = try item.seal.sealWhileLocked(sealed, publicKey: publicKey)
      item.row.lockedTag = try item.seal.lockedTag(
        item.row, classKey: item.key.row.uuid, flags: metadata.flags, revision: sealed.revision,
        session: session.key)
    }
    return item.row
  }

  /// The row with label, attributes and fingers; the secret stays as it is.
  func relabelled(
    _ located: Located, _ next: ItemMetadata, revision: [UInt8]
  ) throws(VaultError) -> ItemRow {
    guard let metadataKey = located.key.metadataKey else { throw located.key.absence(on: share) }
    _ = try writable()
    var item = located
    if item.row.form == .storedWhileLocked {
      // Its tag covers the metadata; a new one is made only where the old one holds.
      guard item.collection.session != nil else { throw .isLocked }
      try checkLockedTag(item, flags: next.flags, revision: revision)
    }
    item.row.modified = max(Process.time, item.row.created)
    item.row.metadata = item.seal.metadata(
      next, revision: revision, created: item.row.created, modified: item.row.modified, key: metadataKey.key)
    item.row.tokens = try readyIndex().column(for: next.attributes)
    if item.row.form == .storedWhileLocked, let session = item.collection.session {
      item.row.lockedTag = try item.seal.lockedTag(
        item.row, classKey: item.key.row.uuid, flags: next.flags, revision: revision, session: session.key)
    }
    return item.row
  }

  /// Writes an item's next version.
  func write(_ row: ItemRow) throws(VaultError) {
    try writing { store throws(VaultError) in try store.update(row) }
  }

  /// Writes a new item.
  func insert(_ row: ItemRow) throws(VaultError) {
    isUnused = false
    try writing { store throws(VaultError) in try store.insert(row) }
  }
}
