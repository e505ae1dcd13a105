import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite

/// A walk along all generations for items that are better protected in the vault than there. It needs no key.
struct HistoryProtection {
  /// An item's protection, by its row.
  struct Row {
    let id: Int64
    let uuid: [UInt8]
    let access: [UInt8]?
    let classKey: Int64

    /// Whether it comes with less than another row of the same item has.
    func isWeaker(_ accessibility: AccessibilityClass, than other: Row, _ others: AccessibilityClass) -> Bool {
      (other.access != nil && access != other.access) || accessibility.joined(with: others) != accessibility
    }
  }

  private let history: History
  private let present: Store
  private var waiting: [PastGeneration]
  private var past: (store: Store, classes: [Int64: AccessibilityClass])?
  private var position: Int64 = 0
  /// The uuids of the items that were found so far.
  private(set) var weaker: Set<[UInt8]> = []

  private static let batch = 64

  init(_ history: History, _ present: Store) {
    (self.history, self.present) = (history, present)
    waiting = history.generations
  }

  /// Looks for a moment.
  ///
  /// - Returns: whether there is more.
  mutating func step() throws(VaultError) -> Bool {
    let classes = try ItemProtections(present).classes()
    let end = Process.now + History.stepTime
    repeat {
      guard let (store, pastClasses) = past else {
        guard let next = waiting.popLast() else { return false }
        // From one that cannot be read nothing comes back.
        if let store = try? history.open(next, vault: present.vault),
          let classes = try? ItemProtections(store).classes()
        {
          (past, position) = ((store, classes), 0)
        }
        continue
      }
      let rows = (try? ItemProtections(store).after(position, limit: Self.batch)) ?? []
      for row in rows {
        position = row.id
        guard let now = try ItemProtections(present).of(uuid: row.uuid), let nowClass = classes[now.classKey],
          let pastClass = pastClasses[row.classKey]
        else { continue }
        if row.isWeaker(pastClass, than: now, nowClass) { weaker.insert(row.uuid) }
      }
      if rows.isEmpty { past = nil }
    } while Process.now < end
    return true
  }
}

/// The protection of items, as their rows have it.
struct ItemProtections {
  private let store: Store

  init(_ store: Store) { self.store = store }

  /// The class of each class key.
  func classes() throws(VaultError) -> [Int64: AccessibilityClass] {
    Dictionary(try store.classKeys().map { ($0.id, $0.accessibility) }) { first, _ in first }
  }

  /// The protection of up to `limit` items with a number above `id`.
  func after(_ id: Int64, limit: Int) throws(VaultError) -> [HistoryProtection.Row] {
    try store.inOrder(
      rows(
        "SELECT id, uuid, passphrase, class_key FROM item WHERE id > ? ORDER BY id LIMIT ?"
      ) { s throws(SQLiteError) in try s.bind(1, id).bind(2, Int64(limit)) }, after: id, by: \.id)
  }

  /// The protection of the item with this uuid; nil if there is none.
  func of(uuid: [UInt8]) throws(VaultError) -> HistoryProtection.Row? {
    let found = try rows("SELECT id, uuid, passphrase, class_key FROM item WHERE uuid = ?") { s throws(SQLiteError) in
      try s.bind(1, uuid)
    }.first
    try store.require(found.map { $0.uuid == uuid } ?? true)
    return found
  }

  private func rows(
    _ sql: StaticString, _ bind: (Statement) throws(SQLiteError) -> Void
  ) throws(VaultError) -> [HistoryProtection.Row] {
    try VaultError.store { () throws(SQLiteError) in
      let statement = try store.database.statement(sql)
      defer { statement.reset() }
      try bind(statement)
      var found: [HistoryProtection.Row] = []
      while try statement.step() {
        found.append(
          HistoryProtection.Row(
            id: statement.integer(0), uuid: statement.blob(1), access: statement.optionalBlob(2),
            classKey: statement.integer(3)))
      }
      return found
    }
  }
}
