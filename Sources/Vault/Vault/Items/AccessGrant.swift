import LatchkeyKeybag
import LatchkeySodium

/// The result of a person's answers for one item: the item's conditions are met, and the key of its passphrase is known. The holder
/// decides how long it lives. It is erased with the last reference.
///
/// The grant holds for the present item: a later write of the secret, the passphrase or the requirements makes the grant worthless.
public final class AccessGrant {
  /// The item.
  public let item: Int64
  /// The item's requirements at that time.
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

/// A passphrase for a new item, or a new passphrase for an item.
public struct NewItemPassphrase: ~Copyable {
  let derivation: PassphraseDerivation
  let key: Key

  /// Puts together the key of ``PassphraseDerivation/key(_:)`` and its derivation.
  public init(_ derivation: PassphraseDerivation, key: consuming Key) {
    self.derivation = derivation
    self.key = key
  }

  consuming func takeKey() -> Key { key }
}
