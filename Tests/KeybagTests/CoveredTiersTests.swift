import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

@Suite("Tier keys under a covering key")
struct CoveredTiersTests {
  /// The covering key and the public key, as another process gets them.
  private final class Holder {
    var key: [UInt8] = []
    var publicKey: [UInt8] = []

    func take(_ key: borrowing Key, _ publicKey: [UInt8]) {
      self.key = octets(key)
      self.publicKey = publicKey
    }

    /// The covering key, as the service returns it.
    func sealed() throws -> [UInt8] {
      let key = key
      return try SealedBox.seal(key.span.bytes, to: publicKey)
    }
  }

  private let vault = [UInt8](repeating: 5, count: 16)

  init() throws { try Sodium.initialize() }

  private func former(_ numbers: UInt32...) throws -> [FormerTiers] {
    try numbers.map { FormerTiers(number: $0, tiers: try .random()) }
  }

  private func cover(_ tiers: borrowing TierKeys, _ former: [FormerTiers], for holder: Holder) throws -> CoveredTiers {
    try CoveredTiers(tiers, epoch: 7, former: former, vault: vault) { key, publicKey in holder.take(key, publicKey) }
  }

  private func failure(_ covered: borrowing CoveredTiers, _ sealed: [UInt8]) -> SodiumError? {
    do throws(SodiumError) {
      _ = try covered.open(sealed.span.bytes)
      return nil
    } catch { return error }
  }

  private func both(_ tiers: borrowing TierKeys) -> [UInt8] { octets(tiers.unlocked) + octets(tiers.session) }

  @Test("Only the covering key, sealed to the public key, opens the tier keys, and as often as it comes")
  func opens() throws {
    let newest = try TierKeys.random()
    let keys = both(newest)
    let earlier = try former(2, 5)
    let holder = Holder()
    let covered = try cover(newest, earlier, for: holder)
    let sealed = try holder.sealed()
    #expect(sealed.count == CoveredTiers.sealedKeySize)
    for _ in 0..<2 {
      let opened = try covered.open(sealed.span.bytes)
      let found = both(opened.tiers)
      let foundBefore = opened.former
      #expect(found == keys)
      #expect(foundBefore.map(\.number) == [2, 5])
      #expect(foundBefore.map { both($0.tiers) } == earlier.map { both($0.tiers) })
    }
    let stranger = Holder()
    stranger.take(try Key.random(), holder.publicKey)
    var changed = sealed
    changed[40] ^= 1
    for wrong in [[], holder.key, try stranger.sealed(), changed, Array(sealed.dropLast()), sealed + [0]] {
      let error = failure(covered, wrong)
      #expect(error == .decryptionFailed)
    }
  }

  @Test("Each covering has a key and a pair of its own, which open no other covering")
  func fresh() throws {
    let tiers = try TierKeys.random()
    let holders = [Holder(), Holder()]
    let first = try cover(tiers, [], for: holders[0])
    let second = try cover(tiers, [], for: holders[1])
    let outcomes = [
      failure(first, try holders[0].sealed()), failure(second, try holders[1].sealed()),
      failure(first, try holders[1].sealed()), failure(second, try holders[0].sealed()),
    ]
    #expect(outcomes == [nil, nil, .decryptionFailed, .decryptionFailed])
    let keys = both(tiers)
    let handedOver = holders.flatMap { [$0.key, $0.publicKey] } + [Array(keys.prefix(32)), Array(keys.suffix(32))]
    #expect(Set(handedOver).count == 6)
  }
}
