/// When an item was stored and last changed in another place, in seconds since 1970; nil for a time that is unknown there.
public struct ItemTimes: Equatable, Sendable {
  /// When it was stored.
  public var created: UInt64?
  /// When it was last changed.
  public var modified: UInt64?

  /// Puts them together.
  public init(created: UInt64? = nil, modified: UInt64? = nil) { (self.created, self.modified) = (created, modified) }
}
