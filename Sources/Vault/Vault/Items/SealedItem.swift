import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// One item's row together with the keys of its class. All encryption and decryption of an item is here.
///
///     class key --wraps--> item key (random, new at every write) --seals--> secret
///     metadata key --seals--> label, attributes, flags, revision
///
/// Associated data binds every value to its vault, collection, class, item and column. Access control flags and the revision are
/// sealed with the metadata, and the item key and the secret are bound to flags and revision.
struct SealedItem {
  /// The vault: 16 bytes.
  let vault: [UInt8]
  /// The row that is on the disk, or will be.
  var row: ItemRow
  let collection: OpenCollection
  let key: ClassKey
  /// This device's share. It shows whether an item that does not open is locked, or belongs to another device.
  let share: DeviceShare?

  /// A secret is padded to multiples of this many bytes before it is sealed.
  static let padding = 64
  /// The largest secret, in bytes: half of what D-Bus carries at once, so that every session can read it.
  static let secretLimit = 32 << 20

  var accessibility: AccessibilityClass { key.row.accessibility }

  /// Why a key of the item's class is not in memory.
  var absence: VaultError { key.absence(on: share) }

  // MARK: - opening

  /// Decrypts label, attributes and flags; nil while their key is not in memory.
  ///
  /// - Parameter index: the index entries must belong to the attributes. If not, an exchange of two items' entries would return one
  ///   item for the other.
  func openMetadata(_ index: AttributeIndex?) throws(VaultError) -> OpenedMetadata? {
    guard let metadataKey = key.metadataKey else { return nil }
    let plain = try VaultError.sodium(.vault(.itemLabel)) { () throws(SodiumError) in
      try AEAD.open(row.metadata.span.bytes, key: metadataKey.key, associated: metadataAssociated)
    }
    let opened: OpenedMetadata
    do { opened = try ItemMetadata.decode(plain.bytes.octets) } catch {
      throw .damaged(.of(.database, .vault(.labelUnreadable)))
    }
    if let index, try index.column(for: opened.metadata.attributes) != row.tokens {
      throw .damaged(.of(.database, .itemIndexDamaged(row.id)))
    }
    return opened
  }

  /// The row's column of access control; nil if the item requires nothing.
  func access() throws(VaultError) -> ItemAccess? {
    guard let column = row.access else { return nil }
    return try ItemAccess(decoding: column, ofItem: row.id)
  }

  /// The requirements in the sealed flags. Anybody who can write into the row could change its column, so the flags decide,
  /// and the column must agree with them.
  func control(_ metadata: ItemMetadata) throws(VaultError) -> AccessControl {
    let passphrase = try access().map { $0.derivation != nil }
    guard let control = try? AccessControl(rawValue: metadata.flags),
      passphrase.map({ $0 == control.needsPassphrase && control.requiresAnything }) ?? !control.requiresAnything
    else { throw .damaged(.of(.database, .itemAccessDamaged(row.id))) }
    return control
  }

  /// Refuses an item whose requirements were not met for exactly this revision and these flags.
  ///
  /// - Returns: the requirements, for ``openSecret(_:_:checked:passphraseKey:)``.
  /// - Throws: ``VaultError/needsGrant``.
  @discardableResult
  func check(_ granted: AccessGrant?, _ opened: OpenedMetadata) throws(VaultError) -> AccessControl {
    let control = try control(opened.metadata)
    guard control.requiresAnything else { return control }
    guard let granted, granted.item == row.id, granted.flags == opened.metadata.flags,
      granted.revision == opened.revision
    else { throw .needsGrant }
    return control
  }

  /// Unwraps the item's key.
  ///
  /// - Throws: ``VaultError/foreignItem(_:)`` if somebody without the vault's keys stored it; ``absence``.
  func itemKey(_ opened: OpenedMetadata) throws(VaultError) -> Key {
    guard let classKey = key.secretKey else { throw absence }
    let flags = opened.metadata.flags
    switch row.form {
    case .quarantined: throw .foreignItem(row.id)
    case .wrapped:
      return try VaultError.sodium(.vault(.itemKey)) { () throws(SodiumError) in
        try Key(
          try AEAD.open(
            row.itemKey.span.bytes, key: classKey.key, associated: itemKeyAssociated(flags, opened.revision)))
      }
    case .storedWhileLocked:
      guard let privateKey = key.privateKey, collection.session != nil else { throw .isLocked }
      try checkLockedTag(flags: flags, revision: opened.revision)
      return try VaultError.sodium(.vault(.storedWhileLocked)) { () throws(SodiumError) in
        try Key(try SealedBox.open(row.itemKey.span.bytes, secret: privateKey.key))
      }
    }
  }

  /// Decrypts the secret. A missing passphrase key, or a superfluous one, is not damage.
  ///
  /// - Parameter checked: the result of ``control(_:)`` or ``check(_:_:)`` for the item; nil if neither function ran.
  /// - Throws: ``VaultError/needsGrant``.
  func openSecret(
    _ opened: OpenedMetadata, _ itemKey: borrowing Key, checked: AccessControl? = nil, passphraseKey: HeldKey?
  ) throws(VaultError) -> SecureBytes {
    let control = if let checked { checked } else { try control(opened.metadata) }
    guard control.needsPassphrase == (passphraseKey != nil) else { throw .needsGrant }
    return try VaultError.sodium(.vault(.itemSecret)) { () throws(SodiumError) in
      let key = try secretKey(itemKey, flags: opened.metadata.flags, passphraseKey)
      let padded = try AEAD.open(
        row.secret.span.bytes, key: key, associated: secretAssociated(opened.metadata.flags, opened.revision))
      guard padded.count >= 4 else { throw .decryptionFailed }
      let bytes = padded.bytes
      let count = Int(UInt32(littleEndian: bytes.unsafeLoadUnaligned(as: UInt32.self)))
      guard count <= padded.count - 4 else { throw .decryptionFailed }
      return try SecureBytes(copying: bytes.extracting(4..<(4 + count)))
    }
  }

  /// Whether an item that was stored while locked came from somebody with the collection's tier key C, of this or a former key
  /// epoch. A sealed box does not show who made it.
  ///
  /// - Throws: ``VaultError/foreignItem(_:)`` if not.
  private func checkLockedTag(flags: UInt32, revision: [UInt8]) throws(VaultError) {
    for session in collection.sessions {
      let expected = try lockedTag(flags: flags, revision: revision, session: session.key)
      if Sodium.equal(expected, row.lockedTag ?? []) { return }
    }
    throw .foreignItem(row.id)
  }

  // MARK: - sealing

  /// Seals a new version into ``row``: metadata, secret, and a new item key. If the class is locked and accepts new items, the
  /// item key is sealed to the class's public key.
  ///
  /// - Parameters:
  ///   - tokens: the index entries of the item's attributes.
  ///   - modified: in seconds since 1970.
  ///   - passphraseKey: the key from the item's passphrase; nil for an item without one.
  /// - Throws: ``VaultError/isLocked``, ``VaultError/tooLarge``, ``VaultError/noFingers(_:)``.
  mutating func seal(
    _ metadata: ItemMetadata, secret: borrowing SecureBytes, tokens: [UInt8], modified: UInt64, passphraseKey: HeldKey?
  ) throws(VaultError) {
    try metadata.checkSize()
    guard secret.count <= SealedItem.secretLimit else { throw .tooLarge }
    guard !metadata.requiresFingers || metadata.fingers?.isEmpty == false else { throw .noFingerEnrolled }
    guard let metadataKey = key.metadataKey else { throw .isLocked }
    let (flags, revision) = (metadata.flags, Sodium.randomBytes(16))
    let itemKey = try VaultError.sodium(.vault(.itemKey)) { () throws(SodiumError) in try Key.random() }
    row.secret = try sealed(secret, itemKey, flags: flags, revision: revision, passphraseKey)
    row.modified = modified
    row.tokens = tokens
    sealMetadata(metadata, revision: revision, key: metadataKey.key)
    if let classKey = key.secretKey { return wrap(itemKey, flags: flags, revision: revision, under: classKey.key) }
    guard accessibility.acceptsWhileLocked, key.publicKeyIsGenuine, let publicKey = key.row.publicKey,
      let session = collection.session
    else { throw .isLocked }
    row.form = .storedWhileLocked
    row.itemKey = try VaultError.sodium(.vault(.classKey)) { () throws(SodiumError) in
      try SealedBox.seal(itemKey.bytes, to: publicKey)
    }
    row.lockedTag = try lockedTag(flags: flags, revision: revision, session: session.key)
  }

  /// Seals other metadata into ``row``; the secret stays as it is.
  mutating func relabel(
    _ metadata: ItemMetadata, revision: [UInt8], tokens: [UInt8], modified: UInt64
  ) throws(VaultError) {
    guard let metadataKey = key.metadataKey else { throw absence }
    if row.form == .storedWhileLocked {
      // The item's tag covers the metadata. A new tag is made only if the old one is right.
      guard collection.session != nil else { throw .isLocked }
      try checkLockedTag(flags: metadata.flags, revision: revision)
    }
    row.modified = modified
    row.tokens = tokens
    sealMetadata(metadata, revision: revision, key: metadataKey.key)
    if row.form == .storedWhileLocked, let session = collection.session {
      row.lockedTag = try lockedTag(flags: metadata.flags, revision: revision, session: session.key)
    }
  }

  /// Wraps the item key under the class key. With a newer class key, it wraps the item key and the metadata under that one. An item
  /// that somebody without the vault's keys stored is quarantined: nothing ever opens it.
  ///
  /// - Parameter newer: the class's newest keys; nil for ``key``, under which the metadata is already.
  /// - Returns: false while a key is missing; the row is then unchanged.
  mutating func rewrap(_ opened: OpenedMetadata, under newer: ClassKey? = nil) throws(VaultError) -> Bool {
    guard let classKey = (newer ?? key).secretKey, let metadataKey = (newer ?? key).metadataKey else { return false }
    do throws(VaultError) {
      let itemKey = try itemKey(opened)
      wrap(itemKey, flags: opened.metadata.flags, revision: opened.revision, under: classKey.key)
      if let newer {
        sealMetadata(opened.metadata, revision: opened.revision, key: metadataKey.key)
        row.classKey = newer.row.id
      }
    } catch {
      guard error == .foreignItem(row.id) else { throw error }
      row.form = .quarantined
      row.lockedTag = nil
    }
    return true
  }

  private func sealed(
    _ secret: borrowing SecureBytes, _ itemKey: borrowing Key, flags: UInt32, revision: [UInt8],
    _ passphraseKey: HeldKey?
  ) throws(VaultError) -> [UInt8] {
    try VaultError.sodium(.vault(.itemKey)) { () throws(SodiumError) in
      let padded = try padded(secret)
      let key = try secretKey(itemKey, flags: flags, passphraseKey)
      return AEAD.seal(padded.bytes, key: key, associated: secretAssociated(flags, revision))
    }
  }

  private mutating func sealMetadata(_ metadata: ItemMetadata, revision: [UInt8], key: borrowing Key) {
    row.metadata = AEAD.seal(
      metadata.encoded(revision: revision).span.bytes, key: key, associated: metadataAssociated)
  }

  private mutating func wrap(
    _ itemKey: borrowing Key, flags: UInt32, revision: [UInt8], under classKey: borrowing Key
  ) {
    row.itemKey = AEAD.seal(itemKey.bytes, key: classKey, associated: itemKeyAssociated(flags, revision))
    row.form = .wrapped
    row.lockedTag = nil
  }

  private func padded(_ secret: borrowing SecureBytes) throws(SodiumError) -> SecureBytes {
    let total = (secret.count + 4 + SealedItem.padding - 1) / SealedItem.padding * SealedItem.padding
    var padded = try SecureBytes(count: total)
    var count = ByteWriter()
    count.number(UInt32(secret.count))
    padded.write(count.bytes.span.bytes, at: 0)
    padded.write(secret.bytes, at: 4)
    return padded
  }

  // MARK: - what values are bound to

  private func associated(_ column: String, _ more: [UInt8]) -> [UInt8] {
    var out = ByteWriter(capacity: 96 + more.count)
    out.text("latchkey/1/" + column)
    out.put(vault)
    out.put(collection.row.uuid)
    out.number(accessibility.rawValue)
    out.put(row.uuid)
    out.put(more)
    return out.bytes
  }

  private var metadataAssociated: [UInt8] {
    var out = ByteWriter()
    out.number(row.created)
    out.number(row.modified)
    return associated("metadata", out.bytes)
  }

  private func itemKeyAssociated(_ flags: UInt32, _ revision: [UInt8]) -> [UInt8] {
    associated("item-key", SealedItem.binding(flags, revision))
  }

  private func secretAssociated(_ flags: UInt32, _ revision: [UInt8]) -> [UInt8] {
    associated("secret", SealedItem.binding(flags, revision) + (row.access ?? []))
  }

  private static func binding(_ flags: UInt32, _ revision: [UInt8]) -> [UInt8] {
    var out = ByteWriter(capacity: 4 + revision.count)
    out.number(flags)
    out.put(revision)
    return out.bytes
  }

  /// The item key, mixed with the key of the item's own passphrase. Without the passphrase, the item key opens nothing.
  private func secretKey(
    _ itemKey: borrowing Key, flags: UInt32, _ passphraseKey: HeldKey?
  ) throws(SodiumError) -> Key {
    // An item with a passphrase is sealed only with the passphrase's key, and any other item only without such a key.
    guard (flags >> 31 == 1) == (passphraseKey != nil) else { throw .badArgument }
    guard let passphraseKey else { return try itemKey.duplicate() }
    var hash = try KeyedHash(key: itemKey)
    hash.update(KeyLabel.itemPassphrase.text)
    for input in [vault, row.uuid] { hash.update(input.span.bytes) }
    hash.update(passphraseKey.key)
    return try hash.key()
  }

  /// The tag under tier key C over everything of an item that was stored while its class was locked.
  private func lockedTag(flags: UInt32, revision: [UInt8], session: borrowing Key) throws(VaultError) -> [UInt8] {
    do {
      return try session.tag(
        .lockedItemTag,
        [
          vault, collection.row.uuid, [accessibility.rawValue], key.row.uuid, row.uuid,
          SealedItem.binding(flags, revision), row.metadata, row.itemKey, row.secret,
        ])
    } catch { throw .outOfMemory }
  }
}

/// A secret that was read; erased when the last reference ends.
public final class OpenedSecret {
  /// The secret itself.
  public let secret: SecureBytes
  /// The secret's content type, as "text/plain".
  public let contentType: String

  init(_ secret: consuming SecureBytes, contentType: String) {
    self.secret = secret
    self.contentType = contentType
  }
}
