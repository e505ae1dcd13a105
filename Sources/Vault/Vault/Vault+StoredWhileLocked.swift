/// Items that were stored while their class was locked, once it is open.
extension Vault {
  /// Wraps items that were stored while their class was locked under the class key, at most `limit` of them. One that
  /// was not made by whoever had tier key C is quarantined.
  ///
  /// - Returns: whether there are more.
  public func rewrapStoredWhileLocked(limit: Int = 16) throws(VaultError) -> Bool {
    _ = try writable()
    let from = rewrapPosition
    let waiting = try reading { store throws(VaultError) in
      try store.items(form: .storedWhileLocked, after: from, limit: limit)
    }
    // On to the next ones also where these must wait longer, as in a collection that is locked by itself.
    rewrapPosition = waiting.count == limit ? waiting.last ?? 0 : 0
    for id in waiting {
      var item = try locate(id)
      guard let classKey = item.key.secretKey, let opened = try metadata(item) else { continue }
      do throws(VaultError) {
        let key = try itemKey(item, opened)
        item.row.itemKey = item.seal.wrap(
          key, flags: opened.metadata.flags, revision: opened.revision, classKey: classKey.key)
        item.row.form = .wrapped
      } catch {
        guard error == .foreignItem(id) else { throw error }
        item.row.form = .quarantined
      }
      item.row.lockedTag = nil
      let row = item.row
      try writing { store throws(VaultError) in try store.update(row) }
    }
    return waiting.count == limit
  }
}
