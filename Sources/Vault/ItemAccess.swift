import Bytes
import Keybag
import Sodium

/// What an item's row says of its access control. Which conditions there are only the sealed flags tell; here is that the
/// item asks for something, so that a search knows without opening it, and how its passphrase becomes a key.
enum ItemAccess: Equatable {
  /// Something is to be shown, and there is no passphrase.
  case conditions
  /// There is a passphrase.
  case passphrase(ItemPassphrase)

  private static let version: UInt8 = 1

  /// The passphrase, if the item has one.
  var passphrase: ItemPassphrase? { if case .passphrase(let passphrase) = self { passphrase } else { nil } }

  /// The column's bytes.
  var encoded: [UInt8] {
    var out = ByteWriter()
    out.number(ItemAccess.version)
    switch self {
    case .conditions: out.number(UInt8(0))
    case .passphrase(let passphrase):
      out.number(UInt8(1))
      passphrase.encode(into: &out)
    }
    return out.bytes
  }

  /// Reads the column of item `id`.
  init(decoding bytes: [UInt8], ofItem id: Int64) throws(VaultError) {
    var input = ByteReader(bytes)
    let version = try? input.number(UInt8.self)
    let kind = try? input.number(UInt8.self)
    switch (version, kind) {
    case (ItemAccess.version, 0): self = .conditions
    case (ItemAccess.version, 1):
      guard let passphrase = ItemPassphrase(decoding: &input) else {
        throw .damaged("vault.db: the passphrase of item \(id) is damaged")
      }
      self = .passphrase(passphrase)
    default: throw .damaged("vault.db: the access control of item \(id) is damaged")
    }
    guard input.remaining == 0 else { throw .damaged("vault.db: the access control of item \(id) is damaged") }
  }
}

/// How an item's own passphrase (`applicationPassword`) becomes a key, and what tells whether it is the right one.
struct ItemPassphrase: Equatable {
  let derivation: PassphraseDerivation
  /// 32 bytes that tell whether a key is this passphrase's: the cipher alone does not commit to its key.
  private let commitment: [UInt8]

  /// For a new passphrase whose key is `key`.
  init(_ derivation: PassphraseDerivation, key: borrowing Key, vault: [UInt8], item: [UInt8]) throws(SodiumError) {
    self.derivation = derivation
    commitment = try key.tag(.itemPassphraseCommitment, [vault, item])
  }

  /// Whether `key` is this passphrase's.
  func isRight(_ key: borrowing Key, vault: [UInt8], item: [UInt8]) throws(VaultError) -> Bool {
    do throws(SodiumError) {
      return Sodium.equal(try key.tag(.itemPassphraseCommitment, [vault, item]), commitment)
    } catch { throw .outOfMemory }
  }

  func encode(into out: inout ByteWriter) {
    derivation.encode(into: &out)
    out.put(commitment)
  }

  init?(decoding input: inout ByteReader) {
    guard let derivation = PassphraseDerivation(decoding: &input), derivation.cost.isReasonable,
      let commitment = try? input.take(32)
    else { return nil }
    self.derivation = derivation
    self.commitment = commitment
  }
}
