import LatchkeyKeybag
import LatchkeySodium

/// The collections' own tier keys, as a chain under one tier key: link 0 comes from the tier key, each link gives the
/// key of one collection and the next link.
///
/// Only the link after the last collection is kept. New collections can be made from it, but no key of an existing collection
/// can be computed again. So a collection with an explicit lock is out of reach, although the session is unlocked and the tier
/// key was in memory.
struct KeyChain {
  private var link: HeldKey
  /// The number of the collection whose key the present link gives.
  private(set) var ordinal: UInt64 = 0

  init(tier: borrowing Key, vault: [UInt8]) throws(SodiumError) {
    link = HeldKey(try tier.derive(.collectionChain, [vault]))
  }

  /// The tier key of the collection number ``ordinal``. The chain moves on, so it cannot give this key again.
  mutating func next(uuid: [UInt8]) throws(SodiumError) -> HeldKey {
    let key = HeldKey(try link.key.derive(.collection, [uuid]))
    try skip()
    return key
  }

  /// Moves on to the next collection, without the key of the present one.
  mutating func skip() throws(SodiumError) {
    link = HeldKey(try link.key.derive(.nextCollection))
    ordinal += 1
  }

  /// Moves on to the collection number `ordinal`, without the keys of the collections before it.
  mutating func skip(to ordinal: UInt64) throws(SodiumError) {
    while self.ordinal < ordinal { try skip() }
  }
}
