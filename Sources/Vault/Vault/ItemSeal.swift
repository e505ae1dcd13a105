import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Seals and opens the values of one item's row.
///
///     class key --wraps--> item key (random, new at every write) --seals--> secret
///     metadata key --seals--> label, attributes, flags, revision
///
/// Every value is bound by associated data to vault, collection, class, item and its column.
struct ItemSeal {
  let vault: [UInt8]
  let collection: [UInt8]
  let accessibility: AccessibilityClass
  let item: [UInt8]

  /// A secret is padded to multiples of this many bytes before it is sealed.
  static let padding = 64
  /// The largest secret, in bytes: half of what D-Bus carries at once, so that every session can read it.
  static let secretLimit = 32 << 20

  private func associated(_ column: String, _ more: [UInt8] = []) -> [UInt8] {
    var out = ByteWriter(capacity: 96 + more.count)
    out.text("latchkey/1/" + column)
    out.put(vault)
    out.put(collection)
    out.number(accessibility.rawValue)
    out.put(item)
    out.put(more)
    return out.bytes
  }

  /// What the item key and the secret are bound to beside the row: the flags and the revision, which only the sealed
  /// metadata tells.
  private static func binding(flags: UInt32, revision: [UInt8]) -> [UInt8] {
    var out = ByteWriter(capacity: 4 + revision.count)
    out.number(flags)
    out.put(revision)
    return out.bytes
  }

  // MARK: - metadata

  func metadata(
    _ value: ItemMetadata, revision: [UInt8], created: UInt64, modified: UInt64, key: borrowing Key
  ) -> [UInt8] {
    AEAD.seal(
      value.encoded(revision: revision).span.bytes, key: key, associated: metadataAssociated(created, modified))
  }

  func openMetadata(
    _ sealed: [UInt8], created: UInt64, modified: UInt64, key: borrowing Key
  ) throws(VaultError) -> (metadata: ItemMetadata, revision: [UInt8]) {
    let plain = try VaultError.sodium("an item's label") { () throws(SodiumError) in
      try AEAD.open(sealed.span.bytes, key: key, associated: metadataAssociated(created, modified))
    }
    do {
      return try ItemMetadata.decode(plain.bytes.withUnsafeBytes { Array($0) })
    } catch {
      throw .damaged("vault.db: an item's label cannot be read")
    }
  }

  private func metadataAssociated(_ created: UInt64, _ modified: UInt64) -> [UInt8] {
    var out = ByteWriter()
    out.number(created)
    out.number(modified)
    return associated("metadata", out.bytes)
  }

  // MARK: - secret

  /// A sealed secret and the new item key that opens it.
  struct SealedSecret: ~Copyable {
    let itemKey: Key
    let revision: [UInt8]
    let secret: [UInt8]
  }

  /// What the item's own passphrase adds: without it the item key opens nothing.
  private func secretKey(_ itemKey: borrowing Key, _ access: Access) throws(SodiumError) -> Key {
    // Never sealed as if there were a passphrase, and without it; nor the other way round.
    guard (access.flags >> 31 == 1) == (access.passphraseKey != nil) else { throw .badArgument }
    guard let passphraseKey = access.passphraseKey else { return try itemKey.duplicate() }
    var hash = try KeyedHash(key: itemKey)
    hash.update(KeyLabel.itemPassphrase.text)
    for input in [vault, item] { hash.update(input.span.bytes) }
    hash.update(passphraseKey.key)
    return try hash.key()
  }

  /// What an item asks for, as far as its secret is bound to it.
  struct Access {
    /// Apple's bits.
    let flags: UInt32
    /// The row's column; empty for none.
    let column: [UInt8]
    /// The key that its passphrase gave; nil where it has none.
    let passphraseKey: HeldKey?
  }

  private func secretAssociated(_ access: Access, _ revision: [UInt8]) -> [UInt8] {
    associated("secret", ItemSeal.binding(flags: access.flags, revision: revision) + access.column)
  }

  /// Seals `secret` under a new item key, and the passphrase's.
  func seal(_ secret: borrowing SecureBytes, _ access: Access) throws(VaultError) -> SealedSecret {
    guard secret.count <= ItemSeal.secretLimit else { throw .tooLarge }
    let revision = Sodium.randomBytes(16)
    return try VaultError.sodium("a new item") { () throws(SodiumError) in
      let itemKey = try Key.random()
      let total = (secret.count + 4 + ItemSeal.padding - 1) / ItemSeal.padding * ItemSeal.padding
      var padded = try SecureBytes(count: total)
      var count = ByteWriter()
      count.number(UInt32(secret.count))
      padded.write(count.bytes.span.bytes, at: 0)
      padded.write(secret.bytes, at: 4)
      let sealed = AEAD.seal(
        padded.bytes, key: try secretKey(itemKey, access), associated: secretAssociated(access, revision))
      return SealedSecret(itemKey: itemKey, revision: revision, secret: sealed)
    }
  }

  /// Opens a sealed secret.
  func open(
    _ sealed: [UInt8], itemKey: borrowing Key, _ access: Access, revision: [UInt8]
  ) throws(VaultError) -> SecureBytes {
    try VaultError.sodium("an item's secret") { () throws(SodiumError) in
      let padded = try AEAD.open(
        sealed.span.bytes, key: try secretKey(itemKey, access), associated: secretAssociated(access, revision))
      guard padded.count >= 4 else { throw .decryptionFailed }
      let bytes = padded.bytes
      let count = Int(UInt32(littleEndian: bytes.unsafeLoadUnaligned(as: UInt32.self)))
      guard count <= padded.count - 4 else { throw .decryptionFailed }
      return try SecureBytes(copying: bytes.extracting(4..<(4 + count)))
    }
  }

  // MARK: - item key

  func wrap(_ sealed: borrowing SealedSecret, flags: UInt32, classKey: borrowing Key) -> [UInt8] {
    wrap(sealed.itemKey, flags: flags, revision: sealed.revision, classKey: classKey)
  }

  func wrap(_ itemKey: borrowing Key, flags: UInt32, revision: [UInt8], classKey: borrowing Key) -> [UInt8] {
    AEAD.seal(
      itemKey.bytes, key: classKey,
      associated: associated("item-key", ItemSeal.binding(flags: flags, revision: revision)))
  }

  func unwrap(
    _ wrapped: [UInt8], flags: UInt32, revision: [UInt8], classKey: borrowing Key
  ) throws(VaultError) -> Key {
    try VaultError.sodium("an item key") { () throws(SodiumError) in
      try Key(
        try AEAD.open(
          wrapped.span.bytes, key: classKey,
          associated: associated("item-key", ItemSeal.binding(flags: flags, revision: revision))))
    }
  }

  /// Seals the item key to the class's public key. Such a value says nothing of who made it: `lockedTag` does.
  func sealWhileLocked(_ sealed: borrowing SealedSecret, publicKey: [UInt8]) throws(VaultError) -> [UInt8] {
    try VaultError.sodium("a public key") { () throws(SodiumError) in
      try SealedBox.seal(sealed.itemKey.bytes, to: publicKey)
    }
  }

  /// The tag under tier key C over everything of an item that was stored while its class was locked.
  func lockedTag(
    _ row: ItemRow, classKey uuid: [UInt8], flags: UInt32, revision: [UInt8], session: borrowing Key
  ) throws(VaultError) -> [UInt8] {
    do {
      return try session.tag(
        .lockedItemTag,
        [
          vault, collection, [accessibility.rawValue], uuid, item, ItemSeal.binding(flags: flags, revision: revision),
          row.metadata, row.itemKey, row.secret,
        ])
    } catch { throw .outOfMemory }
  }

  /// Opens an item key that was stored while locked; the tag was looked at before.
  func unsealStoredWhileLocked(_ sealed: [UInt8], privateKey: borrowing Key) throws(VaultError) -> Key {
    try VaultError.sodium("an item stored while locked") { () throws(SodiumError) in
      try Key(try SealedBox.open(sealed.span.bytes, secret: privateKey))
    }
  }
}
