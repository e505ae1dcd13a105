/// The facts about a collection that need no key but the index's.
public struct CollectionInfo: Equatable, Sendable {
  /// The collection's number. No other collection ever has that number.
  public let id: Int64
  /// The label, for a person; empty if the index cannot be opened.
  public let label: String
  /// When the collection was made, in seconds since 1970.
  public let created: UInt64
  /// When the collection's label last changed, in seconds since 1970.
  public let modified: UInt64
}

/// The state of a collection, which decides what can be read.
public enum CollectionState: Sendable {
  /// No login yet, or the session has ended.
  case sealed
  /// The collection has an explicit lock. It stays locked until the person gives the login password for it.
  case lockedExplicitly
  /// Nobody has given the collection's own passphrase.
  case needsPassphrase
  /// The session is past its first unlock, but tier A is erased.
  case locked
  /// Everything.
  case unlocked
}
