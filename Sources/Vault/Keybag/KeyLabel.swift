import LatchkeySodium

/// Every purpose that a key of the hierarchy is used for. The label is the first input of the derivation, so that no two
/// purposes ever share a key. FORMAT.md lists the other inputs of each.
public enum KeyLabel: CaseIterable, Sendable {
  /// Argon2id output -> the key that wraps the root key in a protector.
  case protectorWrap
  /// Argon2id output -> a check value that tells which protector a password opens.
  case protectorCommitment
  /// Recovery code and salt -> the private key that the root key is sealed to.
  case recoveryPrivate
  /// Recovery code and salt -> the key under which a root key is proven to be this code's.
  case recoveryAttest
  /// Root key -> the key that wraps the proving key, so that the root key can change without the code.
  case recoveryHold
  /// Proving key -> the proof of a root key.
  case recoveryProof
  /// Recovery code -> the bits in the code that show a typing mistake.
  case recoveryCheck
  /// The answer of a security key -> the key that is used like the key of a recovery code.
  case securityKey
  /// Secret of a session's protector -> the key that wraps tier key C in this protector.
  case sessionWrap
  /// Root key -> the key that wraps one tier key.
  case tierWrap
  /// Root key -> the tag over the whole keybag.
  case keybagTag
  /// Tier key -> a check value by which the daemon recognises the tier key.
  case tierCommitment
  /// Tier key -> the first link of the chain of collection keys.
  case collectionChain
  /// Chain link -> the tier key of the one collection of its number.
  case collection
  /// Chain link -> the next link.
  case nextCollection
  /// Tier key C, or a device's share -> the key that wraps the index key.
  case indexWrap
  /// Index key -> the key that seals the labels of collections.
  case collectionLabel
  /// Argon2id output of a collection's passphrase -> the key that wraps the collection's secret.
  case passphraseWrap
  /// Argon2id output of a collection's passphrase -> a check value that tells whether the passphrase is right.
  case passphraseCommitment
  /// Collection's tier key, device share, erasable share, passphrase's secret -> the key that wraps a class key.
  case classWrap
  /// The inputs of `classWrap` -> the key that wraps the key of labels and attributes.
  case metadataWrap
  /// Collection's tier key C -> the tag over a class's public key.
  case publicKeyTag
  /// Collection's tier key C -> the tag over an item that was stored while its class was locked.
  case lockedItemTag
  /// Index key -> the token of one attribute.
  case attributeToken
  /// Index key -> the token of a whole set of attributes.
  case attributeSetToken
  /// Index key -> the token of an alias's name.
  case aliasToken
  /// Device key -> the key that wraps a share.
  case deviceWrap
  /// Device key -> the name by which a vault recognises the device.
  case deviceIdentity
  /// The machine's device secret -> the device key of one user.
  case deviceUser
  /// Item key, and Argon2id output for the item's passphrase as an input -> the key of the secret.
  case itemPassphrase
  /// Tier key C -> the key that seals the access log.
  case accessLog
  /// Argon2id output for a backup's passphrase -> the key of its stream.
  case backupStream
  /// Argon2id output for a backup's passphrase -> a check value that tells whether it is the backup's.
  case backupCommitment
  /// A device's share -> the key that wraps a backup's key for the items of that device.
  case backupDeviceWrap

  /// The text that is hashed.
  public var text: StaticString {
    switch self {
    case .protectorWrap: "latchkey/1/protector-wrap"
    case .protectorCommitment: "latchkey/1/protector-commitment"
    case .recoveryPrivate: "latchkey/1/recovery-private"
    case .recoveryAttest: "latchkey/1/recovery-attest"
    case .recoveryHold: "latchkey/1/recovery-hold"
    case .recoveryProof: "latchkey/1/recovery-proof"
    case .recoveryCheck: "latchkey/1/recovery-check"
    case .securityKey: "latchkey/1/security-key"
    case .sessionWrap: "latchkey/1/session-wrap"
    case .tierWrap: "latchkey/1/tier-wrap"
    case .keybagTag: "latchkey/1/keybag-tag"
    case .tierCommitment: "latchkey/1/tier-commitment"
    case .collectionChain: "latchkey/1/collection-chain"
    case .collection: "latchkey/1/collection"
    case .nextCollection: "latchkey/1/next-collection"
    case .indexWrap: "latchkey/1/index-wrap"
    case .collectionLabel: "latchkey/1/collection-label"
    case .passphraseWrap: "latchkey/1/passphrase-wrap"
    case .passphraseCommitment: "latchkey/1/passphrase-commitment"
    case .classWrap: "latchkey/1/class-wrap"
    case .metadataWrap: "latchkey/1/metadata-wrap"
    case .publicKeyTag: "latchkey/1/public-key-tag"
    case .lockedItemTag: "latchkey/1/locked-item-tag"
    case .attributeToken: "latchkey/1/attribute-token"
    case .attributeSetToken: "latchkey/1/attribute-set-token"
    case .aliasToken: "latchkey/1/alias-token"
    case .deviceWrap: "latchkey/1/device-wrap"
    case .deviceIdentity: "latchkey/1/device-identity"
    case .deviceUser: "latchkey/1/device-user"
    case .itemPassphrase: "latchkey/1/item-passphrase"
    case .accessLog: "latchkey/1/access-log"
    case .backupStream: "latchkey/1/backup-stream"
    case .backupCommitment: "latchkey/1/backup-commitment"
    case .backupDeviceWrap: "latchkey/1/backup-device-wrap"
    }
  }
}

extension Key {
  /// The key for `label` and `inputs` under this key: keyed BLAKE2b-256 over the label and each input, framed.
  public borrowing func derive(_ label: KeyLabel, _ inputs: [[UInt8]] = []) throws(SodiumError) -> Key {
    var hash = try KeyedHash(key: self)
    hash.update(label.text)
    for input in inputs { hash.update(input.span.bytes) }
    return try hash.key()
  }

  /// The tag of `length` bytes for `label` and `inputs` under this key.
  public borrowing func tag(
    _ label: KeyLabel, _ inputs: [[UInt8]] = [], length: Int = 32
  ) throws(SodiumError) -> [UInt8] {
    var hash = try KeyedHash(key: self, length: length)
    hash.update(label.text)
    for input in inputs { hash.update(input.span.bytes) }
    return hash.tag()
  }
}
