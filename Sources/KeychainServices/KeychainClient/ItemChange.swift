import LatchkeySecurity

/// The change of one item by an update.
struct ItemChange: Equatable {
  /// Label, attributes and class.
  let written: VaultLink.Change
  /// Its class and requirements, if those cannot be changed with the rest.
  let protection: Protection?

  /// - Throws: `errSecNoAccessForItem` for an item of another program that would move to another group or become
  ///   synchronizable: it has neither.
  init(of found: VaultItem, _ item: StoredItem, by changes: ItemChanges) throws(ItemFailure) {
    let new = changes.applied(to: item)
    if !found.isOwn {
      guard new.accessGroup == item.accessGroup, new.isSynchronizable == item.isSynchronizable else {
        throw ItemFailure(errSecNoAccessForItem, .foreignItem)
      }
    }
    let (former, wanted) = (item.protection, new.protection)
    let requiresAnything = former.control.requiresAnything || wanted.control.requiresAnything
    protection = requiresAnything && former != wanted ? wanted : nil
    let accessible = requiresAnything || former.accessible == wanted.accessible ? nil : wanted.accessible
    let text = WrittenItem(new, former: found)
    let isSame = text.isSame(as: found) && accessible == nil
    written = VaultLink.Change(path: found.path, item: isSame ? nil : text, accessible: accessible)
  }
}
