import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// The part of a collection's row for the collection's own passphrase. It says how the passphrase becomes a key. This key wraps a
/// random secret, and every class key of the collection also depends on this secret. So after a change of the passphrase, items
/// keep their keys, and the login's keys alone open nothing in the collection.
struct CollectionPassphrase {
  private static let version: UInt8 = 1

  let derivation: PassphraseDerivation
  /// 32 bytes that tell whether a key is this passphrase's: the cipher alone does not commit to its key.
  private let commitment: [UInt8]
  /// The secret, wrapped: 72 bytes.
  private let sealed: [UInt8]

  /// Makes the value for a new passphrase whose key is `key`.
  init(
    secret: borrowing Key, under key: borrowing Key, _ derivation: PassphraseDerivation, vault: [UInt8],
    collection: [UInt8]
  ) throws(SodiumError) {
    self.derivation = derivation
    commitment = try key.tag(.passphraseCommitment, [vault, collection])
    sealed = AEAD.seal(
      secret.bytes, key: try key.derive(.passphraseWrap, [vault, collection]),
      associated: CollectionPassphrase.associated(derivation, vault, collection))
  }

  /// The secret if `key` belongs to this passphrase, otherwise nil.
  func open(_ key: borrowing Key, vault: [UInt8], collection: [UInt8]) throws(VaultError) -> HeldKey? {
    try VaultError.sodium(.vault(.collectionPassphrase)) { () throws(SodiumError) -> HeldKey? in
      guard Sodium.equal(try key.tag(.passphraseCommitment, [vault, collection]), commitment) else { return nil }
      return HeldKey(
        try Key(
          try AEAD.open(
            sealed.span.bytes, key: try key.derive(.passphraseWrap, [vault, collection]),
            associated: CollectionPassphrase.associated(derivation, vault, collection))))
    }
  }

  private static func associated(
    _ derivation: PassphraseDerivation, _ vault: [UInt8], _ collection: [UInt8]
  ) -> [UInt8] {
    var out = ByteWriter()
    out.put(vault)
    out.put(collection)
    derivation.encode(into: &out)
    return out.bytes
  }

  /// The column's bytes.
  var encoded: [UInt8] {
    var out = ByteWriter()
    out.number(CollectionPassphrase.version)
    derivation.encode(into: &out)
    out.put(commitment)
    out.put(sealed)
    return out.bytes
  }

  /// Reads the column.
  init(decoding bytes: [UInt8]) throws(VaultError) {
    var input = ByteReader(bytes)
    guard (try? input.number(UInt8.self)) == CollectionPassphrase.version,
      let derivation = PassphraseDerivation(decoding: &input), derivation.cost.isReasonable,
      let commitment = try? input.take(32),
      let sealed = try? input.take(Key.size + AEAD.overhead), input.remaining == 0
    else { throw .damaged(.of(.database, .vault(.passphraseDamaged))) }
    self.derivation = derivation
    self.commitment = commitment
    self.sealed = sealed
  }
}
