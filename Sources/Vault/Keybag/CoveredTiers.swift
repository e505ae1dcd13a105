import LatchkeyBytes
import LatchkeySodium

/// All tier keys, under a *covering key* that this process does not have. So the encrypted tier keys may stay in memory behind the
/// locked screen. Only the covering key opens them, and another process returns it, sealed, after a finger at the reader.
///
/// docs/developer/finger.md has the whole.
public struct CoveredTiers: ~Copyable {
  /// The tier keys that a password opened.
  public struct Opened: ~Copyable {
    /// The tier keys of the newest key epoch.
    public let tiers: TierKeys
    /// The tier keys of the former epochs, oldest first.
    public let former: [FormerTiers]

    /// Gives the newest keys to another owner.
    public consuming func takeTiers() -> TierKeys { tiers }
  }

  /// The size of a covering key that was sealed to the public key.
  public static let sealedKeySize = Key.size + SealedBox.overhead

  private static let tiersSize = 2 * Key.size

  /// The private half of the pair that the covering key is sealed to.
  private let secret: Key
  private let covered: [UInt8]
  /// Numbers of the former key epochs, oldest first.
  private let former: [UInt32]
  private let associated: [UInt8]

  /// Covers tier keys with a new random key.
  ///
  /// - Parameter handOver: called with the covering key, which is erased afterwards, and with the public key to which the other
  ///   process must seal it.
  public init(
    _ tiers: borrowing TierKeys, epoch: UInt32, former: [FormerTiers], vault: [UInt8],
    handOver: (borrowing Key, [UInt8]) throws(SodiumError) -> Void
  ) throws(SodiumError) {
    var plain = try SecureBytes(count: (1 + former.count) * CoveredTiers.tiersSize)
    CoveredTiers.write(tiers, 0, into: &plain)
    for (index, one) in former.enumerated() { CoveredTiers.write(one.tiers, index + 1, into: &plain) }
    let secret = try Key.random()
    let key = try Key.random()
    try handOver(key, SealedBox.publicKey(of: secret))
    let numbers = former.map(\.number)
    let associated = CoveredTiers.associated([epoch] + numbers, vault: vault)
    covered = AEAD.seal(plain.bytes, key: key, associated: associated)
    self.former = numbers
    self.associated = associated
    self.secret = secret
  }

  /// Opens the tier keys with the covering key, sealed to the public key.
  ///
  /// - Throws: ``SodiumError/decryptionFailed`` for any other bytes.
  public borrowing func open(_ sealedKey: RawSpan) throws(SodiumError) -> Opened {
    let opened = try SealedBox.open(sealedKey, secret: secret)
    guard opened.count == Key.size else { throw .decryptionFailed }
    let plain = try AEAD.open(covered.span.bytes, key: try Key(opened), associated: associated)
    var former: [FormerTiers] = []
    for (index, number) in self.former.enumerated() {
      former.append(FormerTiers(number: number, tiers: try CoveredTiers.read(index + 1, of: plain)))
    }
    return Opened(tiers: try CoveredTiers.read(0, of: plain), former: former)
  }

  private static func write(_ tiers: borrowing TierKeys, _ index: Int, into plain: inout SecureBytes) {
    plain.write(tiers.unlocked.bytes, at: index * tiersSize)
    plain.write(tiers.session.bytes, at: index * tiersSize + Key.size)
  }

  private static func read(_ index: Int, of plain: borrowing SecureBytes) throws(SodiumError) -> TierKeys {
    let start = index * tiersSize
    return TierKeys(
      unlocked: try Key(copying: plain.bytes.extracting(start..<(start + Key.size))),
      session: try Key(copying: plain.bytes.extracting((start + Key.size)..<(start + tiersSize))))
  }

  private static func associated(_ epochs: [UInt32], vault: [UInt8]) -> [UInt8] {
    var out = ByteWriter()
    out.put(vault)
    for epoch in epochs { out.number(epoch) }
    return out.bytes
  }
}
