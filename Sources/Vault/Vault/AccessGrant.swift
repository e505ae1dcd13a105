import LatchkeyKeybag
import LatchkeySodium

/// What a person gave so that one item opens: that its conditions are met, and the key of its passphrase. Whoever holds it
/// decides for how long; it is erased with the last reference.
///
/// It is for the item as it was: when its secret, its passphrase or what it asks for was written since, it is worth nothing.
public final class AccessGrant {
  /// The item.
  public let item: Int64
  /// What it asked for.
  let flags: UInt32
  /// The secret's revision.
  let revision: [UInt8]
  let passphraseKey: HeldKey?

  init(item: Int64, flags: UInt32, revision: [UInt8], passphraseKey: HeldKey?) {
    self.item = item
    self.flags = flags
    self.revision = revision
    self.passphraseKey = passphraseKey
  }
}

/// A passphrase that a new item gets, or one that gets another.
public struct NewItemPassphrase: ~Copyable {
  let derivation: PassphraseDerivation
  let key: Key

  /// Puts together what ``PassphraseDerivation/key(_:)`` gave, and how.
  public init(_ derivation: PassphraseDerivation, key: consuming Key) {
    self.derivation = derivation
    self.key = key
  }

  consuming func takeKey() -> Key { key }
}
