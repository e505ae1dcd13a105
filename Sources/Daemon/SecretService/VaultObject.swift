import LatchkeySystemd

/// The interface `org.latchkey.Vault` at `/org/latchkey/vault`: the state of the vault, for programs that follow it.
/// Nothing can be changed through it.
public final class VaultObject {
  /// The facts that clients may read.
  public struct Facts: Equatable, Sendable {
    /// "sealed", "unlocked" or "locked".
    public var state: String
    /// Whether the session was unlocked since it began.
    public var isFirstUnlocked: Bool
    /// Whether the login password was changed without Latchkey, and the former one is needed once.
    public var needsFormerPassword: Bool

    /// Puts the properties together.
    public init(state: String, isFirstUnlocked: Bool, needsFormerPassword: Bool) {
      self.state = state
      self.isFirstUnlocked = isFirstUnlocked
      self.needsFormerPassword = needsFormerPassword
    }
  }

  static let path = "/org/latchkey/vault"
  private static let interface = "org.latchkey.Vault"

  private let bus: Bus
  private var slot: BusSlot?
  private var announced: Facts

  /// Puts the object on `bus`. `facts` is called whenever a client asks.
  public init(bus: Bus, facts: @escaping () -> Facts) throws {
    self.bus = bus
    announced = facts()
    slot = try bus.export(
      ObjectInterface(
        Self.interface,
        properties: [
          .init(
            "State", "s", flags: .emitsChange,
            getter: { $1.appendString(facts().state) }),
          .init(
            "FirstUnlocked", "b", flags: .emitsChange,
            getter: { $1.appendBool(facts().isFirstUnlocked) }),
          .init(
            "NeedsFormerPassword", "b", flags: .emitsChange,
            getter: { $1.appendBool(facts().needsFormerPassword) }),
        ]), below: Self.path
    ) { $0 == Self.path }
  }

  /// Tells clients the changes.
  public func changed(to facts: Facts) {
    guard facts != announced else { return }
    announced = facts
    try? bus.emitPropertiesChanged(
      path: Self.path, interface: Self.interface, names: ["State", "FirstUnlocked", "NeedsFormerPassword"])
  }
}
