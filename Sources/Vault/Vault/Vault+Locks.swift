/// Explicit locks, and whether a collection may be changed: a locked one may not.
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

  /// Whether an item of the collection has an explicit lock.
  public func hasLockedItems(in collection: Int64) -> Bool { keys.ownLocks.contains(itemIn: collection) }

  /// Whether any item has an explicit lock.
  public var hasLockedItems: Bool { !keys.ownLocks.isEmpty }

  /// Whether there is an explicit lock, or a deleted collection that waits for the password. A login ends both.
  public var hasOwnLocks: Bool { lockedCollectionCount > 0 || hasLockedItems || hasWaitingCollections }

  /// When the last explicit lock was, in microseconds since the machine started; 0 for never. A password that was given before
  /// a lock does not end it.
  public var latestOwnLock: UInt64 { keys.ownLocks.latest }
}
