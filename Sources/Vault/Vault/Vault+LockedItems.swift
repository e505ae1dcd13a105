/// Items that were locked by themselves while their collection is open.
///
/// Such a lock is this process's: the key of the item's class stays in memory, as other items need it, and nothing is written
/// down. It ends as the lock of a collection does, by a login or by the login password given for the collection, and with
/// the keys at ``seal()``.
extension Vault {
  /// Locks an item by itself.
  public func lockItem(_ id: Int64) throws(VaultError) {
    guard let collection = try collection(ofItem: id) else { throw .noSuchItem }
    lockedItems[id] = collection
    ownLocks &+= 1
  }

  /// Whether the item was locked by itself.
  public func isLockedByItself(item id: Int64) -> Bool { lockedItems[id] != nil }

  /// Refuses to use the item's key.
  func checkIsNotLockedByItself(_ item: Located) throws(VaultError) {
    if isLockedByItself(item: item.row.id) { throw .isLockedByItself }
  }

  /// Whether an item of the collection was locked by itself.
  public func hasLockedItems(in collection: Int64) -> Bool { lockedItems.values.contains(collection) }

  /// Whether any item was locked by itself.
  public var hasLockedItems: Bool { !lockedItems.isEmpty }

  /// Whether something is locked by itself, which a login opens.
  public var hasOwnLocks: Bool { lockedCollectionCount > 0 || hasLockedItems }

  /// Lets the items of these collections be used again.
  func liftItems(of collections: Set<Int64>) {
    if !lockedItems.isEmpty { lockedItems = lockedItems.filter { !collections.contains($0.value) } }
  }
}
