/// The needs of a vault for keys that it has already: facts by which ``AuthenticationPolicy`` wants keys for a session that is
/// unlocked, or locked, without changing that.
public struct KeyNeeds: Equatable, Sendable {
  /// A password that created the vault is proven only when a second login opens the keybag with it.
  public var hasUnprovenPassword = false
  /// The keybag still has the keys of a key epoch on which nothing depends any more.
  public var hasSpareEpoch = false
  /// The last login's password opens nothing, which the person can fix now.
  public var needsFormerPassword = false
  /// Collections or items have explicit locks.
  public var hasOwnLocks = false

  /// None.
  public init() {}
}
