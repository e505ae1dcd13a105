import LatchkeySecurity

/// The change of one item by an update.
struct ItemChange: Equatable {
  /// The changed label, attributes and class.
  let written: VaultLink.Change
  /// The new class and requirements, if they cannot be changed together with the rest.
  let protection: Protection?

  /// - Throws: `errSecNoAccessForItem` if an item of another program would move to another group or become synchronizable. Such an
  ///   item has no group, and cannot be marked as synchronizable.
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
