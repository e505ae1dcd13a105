import LatchkeyKeybag

/// The subject of a question, as the person sees it. An answer counts for this subject alone.
public struct PromptSubject: Equatable, Sendable {
  /// The label of the collection or item; empty without a label.
  public let label: String
  /// The item's requirements.
  public let access: AccessControl
  /// The time for which the client may read the item again without another question, in seconds; 0 for one use.
  public let reuse: UInt16
  /// The change that the client wants, in words; empty without a change.
  public let change: String

  /// Whether the login password will create the vault.
  public let createsVault: Bool

  /// Makes a value from its parts.
  public init(
    label: String = "", access: AccessControl = .none, reuse: UInt16 = 0, change: String = "",
    createsVault: Bool = false
  ) {
    self.label = label
    self.access = access
    self.reuse = reuse
    self.change = change
    self.createsVault = createsVault
  }
}
