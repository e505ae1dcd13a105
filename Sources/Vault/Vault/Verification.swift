import LatchkeySodium

/// A walk through the whole database that looks at every check sum and every index entry.
///
/// A damaged index entry makes an item impossible to find, and after an empty answer programs make a new secret and overwrite
/// the old one. So after a start the walk runs in small steps beside the work, and an empty answer waits for its end.
struct Verification {
  private let store: Store
  private var position: Int64 = 0
  private var structureChecked = false
  /// Whether the walk has reached its end.
  private(set) var isFinished = false

  /// The number of bytes after which a step ends.
  private static let stepSize = 1 << 20

  /// - Parameter structure: whether SQLite's own check of the whole file comes first. That is one step, however large the file
  ///   is.
  init(_ store: Store, structure: Bool = true) {
    self.store = store
    structureChecked = !structure
  }

  /// One step: the structure first, then a few items.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` with the first fault.
  mutating func step(items limit: Int = 32) throws(VaultError) {
    if !structureChecked {
      structureChecked = true
      if let damage = try store.structuralDamage() { throw .damaged("vault.db: \(damage)") }
      try store.checkAliases()
      for table in Store.Numbered.allCases { _ = try store.nextID(table) }
      guard try store.indexesHaveNothingElse() else { throw .damaged("vault.db: the index of the items is damaged") }
      return
    }
    var size = 0
    let batch = try store.items(after: position, limit: limit)
    for id in batch {
      guard let row = try store.item(id) else { throw .damaged("vault.db: item \(id) is damaged") }
      try store.checkTokens(of: row)
      guard try store.isIndexed(row) else { throw .damaged("vault.db: the index of item \(id) is damaged") }
      position = id
      size += row.secret.count + row.metadata.count
      // Large secrets take time, and other work must not wait for a batch of them.
      if size > Verification.stepSize { return }
    }
    if batch.isEmpty { isFinished = true }
  }
}
