extension Restore {
  /// The changes of a restore, for the signals to programs.
  public struct Changes: Equatable, Sendable {
    /// Collections that are new.
    public var collections: [Int64] = []
    /// New items, with their collections.
    public var added: [(collection: Int64, item: Int64)] = []
    /// Changed items, with their collections.
    public var replaced: [(collection: Int64, item: Int64)] = []

    /// Whether both changes are the same.
    public static func == (left: Changes, right: Changes) -> Bool {
      left.collections == right.collections && left.added.elementsEqual(right.added, by: ==)
        && left.replaced.elementsEqual(right.replaced, by: ==)
    }
  }
}
