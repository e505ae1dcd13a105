import Sodium

/// The two keys that a password gives: everything in the vault hangs on one of them, or on the device key.
public struct TierKeys: ~Copyable {
  /// Tier key A: lives while the session is unlocked.
  public let unlocked: Key
  /// Tier key C: lives from the first unlock to the end of the session.
  public let session: Key

  /// Puts the two together.
  public init(unlocked: consuming Key, session: consuming Key) {
    self.unlocked = unlocked
    self.session = session
  }

  /// Two new keys.
  public static func random() throws(SodiumError) -> TierKeys {
    TierKeys(unlocked: try .random(), session: try .random())
  }
}
