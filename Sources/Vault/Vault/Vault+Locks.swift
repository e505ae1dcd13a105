/// What is locked by itself, and which collections may be changed: none that is locked.
extension Vault {
  /// Refuses a change of a collection that is locked, be it by itself or with its tier keys.
  ///
  /// - Throws: ``VaultError/isLocked``.
  public func checkMayChange(collection id: Int64) throws(VaultError) {
    guard try state(of: id) == .unlocked else { throw .isLocked }
  }

  /// Refuses to delete a collection while it, or an item in it, is locked.
  ///
  /// - Throws: ``VaultError/isLocked``.
  public func checkMayDelete(collection id: Int64) throws(VaultError) {
    try checkMayChange(collection: id)
    if hasLockedItems(in: id) { throw .isLocked }
  }

  /// Whether an item of the collection was locked by itself.
  public func hasLockedItems(in collection: Int64) -> Bool { keys.ownLocks.contains(itemIn: collection) }

  /// Whether any item was locked by itself.
  public var hasLockedItems: Bool { !keys.ownLocks.isEmpty }

  /// Whether something is locked by itself, which a login opens.
  public var hasOwnLocks: Bool { lockedCollectionCount > 0 || hasLockedItems }

  /// How often a collection or an item was locked by itself. Keys that were given before do not lift that.
  public var ownLocks: UInt64 { keys.ownLocks.count }
}
