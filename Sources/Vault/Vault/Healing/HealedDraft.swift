import LatchkeyKeybag

/// The copy of a generation that will replace a damaged database. It is opened as a separate vault before it does so.
struct HealedDraft {
  private let vault: Vault

  init(_ vault: Vault) { self.vault = vault }

  /// Checks the whole draft, and leaves one file with every row in its place.
  func close() throws(VaultError) {
    guard try vault.database.ready().isWhole else { throw .damaged(.of(.database, .vault(.copyDamaged))) }
    try vault.database.ready().emptyLog()
    try vault.database.ready().database.trust()
    vault.forget()
  }

  /// Checks the rows of the damaged file with the keys. A row that the keys do not open is replaced by the
  /// generation's, or deleted.
  func check(
    _ merge: HealingMerge.Outcome, against base: Store, _ healing: inout Healing
  ) throws(VaultError) {
    var older = merge.older
    healing.lostNumbers = merge.lost
    (healing.dropped, healing.droppedCollections) = (merge.dropped, merge.droppedCollections)
    for id in merge.taken {
      guard let row = try vault.database.ready().item(id), let item = try? vault.reader.locate(row) else { continue }
      if try item.isGenuine(vault.keys.index) {
        healing.newer += 1
      } else if let before = try base.item(id), vault.keys.classKey(before.classKey) != nil {
        try vault.database.writing { store throws(VaultError) in try store.update(before) }
        older.append(id)
      } else {
        try vault.database.writing { store throws(VaultError) in _ = try store.deleteItem(id) }
        healing.lostNumbers.append(id)
      }
    }
    for id in older {
      guard let row = try vault.database.ready().item(id), let item = try? vault.reader.locate(row) else { continue }
      healing.older.append((try? item.openMetadata(vault.keys.index))?.metadata.label ?? "")
      healing.olderNumbers.append(id)
    }
  }
}

extension SealedItem {
  /// Whether the keys in memory open the item.
  ///
  /// - Throws: errors that do not come from the item, such as a lack of memory.
  func isGenuine(_ index: AttributeIndex?) throws(VaultError) -> Bool {
    do throws(VaultError) {
      guard let opened = try openMetadata(index) else { return true }
      _ = try control(opened.metadata)
      let itemKey = try itemKey(opened)
      if try !control(opened.metadata).needsPassphrase {
        _ = try openSecret(opened, itemKey, passphraseKey: nil).count
      }
      return true
    } catch {
      if case .damaged = error { return false }
      guard error.isOfContent else { throw error }
      return true
    }
  }
}
