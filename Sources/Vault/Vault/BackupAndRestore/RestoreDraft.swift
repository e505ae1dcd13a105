/// An item to write.
struct RestoreDraft {
  let target: RestoreTarget
  let key: ClassKey
  var row: ItemRow
  /// The item that it replaces.
  let replaces: Bool
  /// Whether it is better protected than that item.
  let isStricter: Bool
  /// The items that were compared with it; nil in a new collection.
  let group: RestoreGroup?
  /// Its line in the report.
  let line: Int
}
