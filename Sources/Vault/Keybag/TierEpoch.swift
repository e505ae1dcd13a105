import LatchkeyBytes
import LatchkeySodium

/// A key epoch: one set of tier keys. A keybag has the newest epoch, and each former epoch as long as something still depends on
/// it.
public struct TierEpoch: Equatable, Sendable {
  /// The number of the key epoch. Collections in the database name the oldest one that they need.
  public let number: UInt32
  let sealedUnlocked: [UInt8]
  let sealedSession: [UInt8]
  /// 32 bytes by which tier key A is recognised.
  let unlockedCommitment: [UInt8]
  /// 32 bytes by which tier key C is recognised.
  let sessionCommitment: [UInt8]

  private static let sealedSize = Key.size + AEAD.overhead

  init(number: UInt32, tiers: borrowing TierKeys, root: borrowing Key, vault: [UInt8]) throws(SodiumError) {
    self.number = number
    sealedUnlocked = AEAD.seal(
      tiers.unlocked.bytes, key: try TierEpoch.wrap(root, "A", vault), associated: TierEpoch.associated(number, vault))
    sealedSession = AEAD.seal(
      tiers.session.bytes, key: try TierEpoch.wrap(root, "C", vault), associated: TierEpoch.associated(number, vault))
    unlockedCommitment = try tiers.unlocked.tag(.tierCommitment, [vault])
    sessionCommitment = try tiers.session.tag(.tierCommitment, [vault])
  }

  func open(root: borrowing Key, vault: [UInt8]) throws(SodiumError) -> TierKeys {
    let associated = TierEpoch.associated(number, vault)
    return TierKeys(
      unlocked: try Key(
        try AEAD.open(sealedUnlocked.span.bytes, key: try TierEpoch.wrap(root, "A", vault), associated: associated)),
      session: try Key(
        try AEAD.open(sealedSession.span.bytes, key: try TierEpoch.wrap(root, "C", vault), associated: associated)))
  }

  func recognises(_ tiers: borrowing TierKeys, vault: [UInt8]) throws(SodiumError) -> Bool {
    let unlocked = try tiers.unlocked.tag(.tierCommitment, [vault])
    let session = try tiers.session.tag(.tierCommitment, [vault])
    return Sodium.equal(unlocked, unlockedCommitment)
      && Sodium.equal(session, sessionCommitment)
  }

  /// Whether both epochs have the same keys. The wrapped keys differ if the root key was changed.
  func hasSameKeys(as other: TierEpoch) -> Bool {
    number == other.number && Sodium.equal(unlockedCommitment, other.unlockedCommitment)
      && Sodium.equal(sessionCommitment, other.sessionCommitment)
  }

  private static func wrap(_ root: borrowing Key, _ tier: String, _ vault: [UInt8]) throws(SodiumError) -> Key {
    try root.derive(.tierWrap, [vault, Array(tier.utf8)])
  }

  private static func associated(_ number: UInt32, _ vault: [UInt8]) -> [UInt8] {
    var out = ByteWriter()
    out.number(Keybag.version)
    out.put(vault)
    out.number(number)
    return out.bytes
  }

  func encode(into out: inout ByteWriter) {
    out.number(number)
    out.put(sealedUnlocked)
    out.put(sealedSession)
    out.put(unlockedCommitment)
    out.put(sessionCommitment)
  }

  init(decoding input: inout ByteReader) throws(ByteReader.Truncated) {
    number = try input.number()
    sealedUnlocked = try input.take(TierEpoch.sealedSize)
    sealedSession = try input.take(TierEpoch.sealedSize)
    unlockedCommitment = try input.take(32)
    sessionCommitment = try input.take(32)
  }
}

extension Keybag {
  /// Whether this can be a later keybag of the same vault: it shares a key epoch with `known`, and every shared epoch has the same
  /// keys. True if `known` is empty.
  public func hasKeys(of known: [TierEpoch]) -> Bool {
    let present = known.filter { one in epochs.contains { $0.number == one.number } }
    if present.isEmpty { return known.isEmpty }
    return present.allSatisfy { one in epochs.contains { $0.hasSameKeys(as: one) } }
  }
}
