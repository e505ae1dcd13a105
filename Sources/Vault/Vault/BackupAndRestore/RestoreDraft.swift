/// An item to write.
struct RestoreDraft {
  let target: RestoreTarget
  let key: ClassKey
  var row: ItemRow
  /// Whether an item of the vault is replaced.
  let replaces: Bool
  /// Whether the restored item is better protected than the replaced item.
  let isStricter: Bool
  /// The items that were compared with the draft; nil in a new collection.
  let group: RestoreGroup?
  /// The item's line in the report.
  let line: Int
}
