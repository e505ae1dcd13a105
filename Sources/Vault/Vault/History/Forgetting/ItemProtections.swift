import LatchkeyKeybag
import LatchkeySQLite

/// The protection of items, read from their rows.
struct ItemProtections {
  /// An item's protection, by its row.
  struct Row {
    let id: Int64
    let uuid: [UInt8]
    let access: [UInt8]?
    let classKey: Int64

    /// Whether the row's protection is weaker than the protection of another row of the same item.
    func isWeaker(_ accessibility: AccessibilityClass, than other: Row, _ others: AccessibilityClass) -> Bool {
      (other.access != nil && access != other.access) || accessibility.joined(with: others) != accessibility
    }
  }

  private let store: Store

  init(_ store: Store) { self.store = store }

  /// The class of each class key.
  func classes() throws(VaultError) -> [Int64: AccessibilityClass] {
    Dictionary(try store.classKeys().map { ($0.id, $0.accessibility) }) { first, _ in first }
  }

  /// The protection of up to `limit` items with a number above `id`, by the rows themselves.
  func after(_ id: Int64, limit: Int) throws(VaultError) -> [Row] {
    try store.inOrder(
      rows(
        .count(limit), "SELECT id, uuid, passphrase, class_key FROM item NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?"
      ) { s throws(SQLiteError) in try s.bind(1, id).bind(2, Int64(limit)) }, after: id, by: \.id)
  }

  /// The protection of the item with this uuid; nil if there is no such item.
  func of(uuid: [UInt8]) throws(VaultError) -> Row? {
    let found = try rows(.count(1), "SELECT id, uuid, passphrase, class_key FROM item WHERE uuid = ?") {
      s throws(SQLiteError) in
      try s.bind(1, uuid)
    }.first
    try store.require(found.map { $0.uuid == uuid } ?? true)
    return found
  }

  private func rows(
    _ end: Store.RowEnd, _ sql: StaticString, _ bind: (Statement) throws(SQLiteError) -> Void
  ) throws(VaultError) -> [Row] {
    try store.all(end, sql, bind) {
      Row(id: $0.integer(0), uuid: $0.blob(1), access: $0.optionalBlob(2), classKey: $0.integer(3))
    }
  }
}
