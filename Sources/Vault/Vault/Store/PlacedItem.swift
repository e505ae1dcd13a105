import LatchkeySQLite

/// The columns that decide whether an item can be read.
struct PlacedItem {
  let item: Int64
  /// Nil for an item that does not exist, although an index leads to it.
  let collection: Int64?
  let classKey: Int64
  /// How the item's own key is kept.
  let form: ItemRow.Form?
  /// Whether the item's row says that the item has requirements (``ItemAccess``).
  let isGuarded: Bool
  /// When the item was last changed.
  let modified: UInt64

  init(_ statement: Statement) {
    item = statement.integer(0)
    collection = statement.isNull(1) ? nil : statement.integer(1)
    classKey = statement.integer(2)
    form = ItemRow.Form(rawValue: UInt8(truncatingIfNeeded: statement.integer(3)))
    isGuarded = statement.integer(4) != 0
    modified = UInt64(bitPattern: statement.integer(5))
  }
}
