import LatchkeySodium

/// A walk through the whole database that looks at every check sum and every index entry.
///
/// An index entry that got damaged makes an item impossible to find, and an empty answer makes programs mint a new
/// secret and overwrite the old one. So after a start the walk runs in small steps beside the work, and an empty answer
/// waits for its end.
struct Verification {
  private let store: Store
  private var position: Int64 = 0
  private var structureChecked = false
  /// Whether the walk is at its end.
  private(set) var isFinished = false

  /// After how many bytes a step ends.
  private static let stepSize = 1 << 20

  /// - Parameter structure: whether SQLite's own look at the whole file comes first. That is one step, however large the file is.
  init(_ store: Store, structure: Bool = true) {
    self.store = store
    structureChecked = !structure
  }

  /// One step: the structure first, then a few items.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` with the first thing that is wrong.
  mutating func step(items limit: Int = 32) throws(VaultError) {
    if !structureChecked {
      structureChecked = true
      if let damage = try store.structuralDamage() { throw .damaged(.of(.database, .verbatim(damage))) }
      try store.checkAliases()
      for table in Store.Numbered.allCases { _ = try store.nextID(table) }
      guard try store.indexesHaveNothingElse() else { throw .damaged(.of(.database, .vault(.indexDamaged))) }
      return
    }
    var size = 0
    let batch = try store.items(after: position, limit: limit)
    for id in batch {
      guard let row = try store.item(id) else { throw .damaged(.of(.database, .itemDamaged(id))) }
      try store.checkTokens(of: row)
      guard try store.isIndexed(row) else { throw .damaged(.of(.database, .itemIndexDamaged(id))) }
      position = id
      size += row.secret.count + row.metadata.count
      // Large secrets take their time: the work beside the walk is not to wait for a batch of them.
      if size > Verification.stepSize { return }
    }
    if batch.isEmpty { isFinished = true }
  }
}
