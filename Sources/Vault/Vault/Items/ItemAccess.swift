import LatchkeyBytes
import LatchkeyKeybag

/// The part of an item's row about its access control. It says that the item has requirements, so that a search need not open it.
/// It also says how the item's passphrase becomes a key. Only the sealed flags name the conditions.
enum ItemAccess: Equatable {
  /// There are conditions, and no passphrase.
  case conditions
  /// There is a passphrase (`applicationPassword`). Nothing here shows whether a passphrase is right, so nobody can guess it from
  /// the files without the class key.
  case passphrase(PassphraseDerivation)

  private static let version: UInt8 = 1

  /// The way in which the item's passphrase becomes a key; nil for an item without one.
  var derivation: PassphraseDerivation? { if case .passphrase(let derivation) = self { derivation } else { nil } }

  /// The column's bytes: 2, or 30 with a passphrase.
  var encoded: [UInt8] {
    var out = ByteWriter()
    out.number(ItemAccess.version)
    switch self {
    case .conditions: out.number(UInt8(0))
    case .passphrase(let derivation):
      out.number(UInt8(1))
      derivation.encode(into: &out)
    }
    return out.bytes
  }

  /// Reads the column of item `id`.
  init(decoding bytes: [UInt8], ofItem id: Int64) throws(VaultError) {
    var input = ByteReader(bytes)
    let version = try? input.number(UInt8.self)
    let kind = try? input.number(UInt8.self)
    let read: ItemAccess? =
      switch (version, kind) {
      case (ItemAccess.version, 0): .conditions
      case (ItemAccess.version, 1): PassphraseDerivation(decoding: &input).map { .passphrase($0) }
      default: nil
      }
    guard let read, input.remaining == 0, read.derivation?.cost.isReasonable ?? true else {
      throw .damaged(.of(.database, .itemAccessDamaged(id)))
    }
    self = read
  }
}
