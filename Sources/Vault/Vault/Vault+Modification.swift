/// What may be changed: nothing that is locked. A *new* item can be stored while its class is locked, as that loses nothing.
extension Vault {
  /// Refuses a change or deletion of an item that is locked.
  ///
  /// An item that stays closed although everything is unlocked, as one of another device, may go: no unlock would open it.
  ///
  /// - Throws: ``VaultError/isLocked``.
  public func checkMayChange(item id: Int64) throws(VaultError) {
    let found = try reading { store throws(VaultError) in try store.place(ofItem: id) }
    guard let found else { throw .noSuchItem }
    guard let (collection, key) = classKey(found.classKey) else {
      throw .damaged("vault.db: item \(id) has no class key")
    }
    try checkMayChange(key, in: collection)
    if isLockedByItself(item: id) { throw .isLockedByItself }
  }

  /// The same for the keys of the item's class.
  func checkMayChange(_ key: ClassKey, in collection: OpenCollection) throws(VaultError) {
    if collection.isClosed { throw .isLocked }
    if key.secretKey != nil { return }
    let waitsForUnlock =
      switch key.row.accessibility.tier {
      case .unlocked: collection.unlocked == nil
      case .session: collection.session == nil
      case .device: false
      }
    if waitsForUnlock { throw .isLocked }
  }

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
}
