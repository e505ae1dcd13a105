import Keybag

/// Items that ask for the fingers that were enrolled when they were stored (`biometryCurrentSet`). With other fingers
/// such an item has come to its end.
extension Vault {
  /// Whether an item remembers which fingers were enrolled.
  public func remembersFingers(ofItem id: Int64) throws(VaultError) -> Bool {
    guard let metadata = try metadata(try locate(id))?.metadata, metadata.asksForFingers else { return false }
    return metadata.fingers?.isVoid == false
  }

  /// How the fingers that are enrolled now differ from those that an item remembers; nil for one that remembers none,
  /// or whose label cannot be read now.
  public func changeOfFingers(ofItem id: Int64, to present: FingerSet) throws(VaultError) -> FingerSet.Change? {
    guard let metadata = try metadata(try locate(id))?.metadata, metadata.asksForFingers else { return nil }
    return metadata.fingers?.change(to: present)
  }

  /// Takes the fingers away from an item that opens by something else as well ("or"), for good.
  ///
  /// - Returns: false where there is nothing else.
  public func forgetFingers(ofItem id: Int64) throws(VaultError) -> Bool {
    let item = try locate(id)
    guard let opened = try metadata(item), try control(opened.metadata, of: item.row).withoutCurrentSet != nil else {
      return false
    }
    var next = opened.metadata
    next.fingers = .void
    try write(try relabelled(item, next, revision: opened.revision))
    return true
  }

  /// Ends an item for good: its row is gone, with the only key of its secret, and from SQLite's log as well. It is dead
  /// from here on, whatever is enrolled later, also while the disk takes no writes: ``settle()`` tries again then.
  ///
  /// - Returns: the item, for who has to tell that it is gone; nil where there was none.
  public func endItem(_ id: Int64) throws(VaultError) -> FoundItem? {
    guard let collection = try collection(ofItem: id) else { return nil }
    deadItems.insert(id)
    endDeadItems()
    settle()
    return FoundItem(id: id, collection: collection, readability: .locked)
  }

  /// Removes the rows of items that have come to their end.
  func endDeadItems() {
    for id in deadItems {
      do throws(VaultError) { _ = try writing { store throws(VaultError) in try store.deleteItem(id) } } catch {
        return
      }
      deadItems.remove(id)
    }
  }
}
