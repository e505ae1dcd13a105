import LatchkeySodium

/// The two keys that a password opens. Everything in the vault depends on one of them, or on the device key.
public struct TierKeys: ~Copyable {
  /// Tier key A: lives while the session is unlocked.
  public let unlocked: Key
  /// Tier key C: lives from the first unlock to the end of the session.
  public let session: Key

  /// Puts the two keys together.
  public init(unlocked: consuming Key, session: consuming Key) {
    self.unlocked = unlocked
    self.session = session
  }

  /// A second owner of the same two keys.
  public borrowing func duplicate() throws(SodiumError) -> TierKeys {
    TierKeys(unlocked: try unlocked.duplicate(), session: try session.duplicate())
  }

  /// Two new keys.
  public static func random() throws(SodiumError) -> TierKeys {
    TierKeys(unlocked: try .random(), session: try .random())
  }
}

/// The tier keys of a key epoch before the newest, which something in the database still depends on.
public final class FormerTiers {
  /// The number of the key epoch.
  public let number: UInt32
  /// The tier keys of that epoch.
  public let tiers: TierKeys

  /// Puts number and keys together.
  public init(number: UInt32, tiers: consuming TierKeys) {
    self.number = number
    self.tiers = tiers
  }
}
