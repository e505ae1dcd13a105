import LatchkeyPosix

/// A walk along the rows of a generation for some items. It looks at every row, so a damaged index hides no item.
struct HistoryItemWalk {
  let store: Store
  private let items: Set<[UInt8]>
  private var position: Int64 = 0
  /// The numbers of the items that were found so far.
  private(set) var found: [Int64] = []

  private static let batch = 256

  init(_ store: Store, _ items: Set<[UInt8]>) { (self.store, self.items) = (store, items) }

  /// Looks for a moment.
  ///
  /// - Returns: whether there are more rows.
  mutating func step() throws(VaultError) -> Bool {
    let end = Process.now + History.stepTime
    repeat {
      let rows = try store.uuids(after: position, limit: Self.batch)
      guard let last = rows.last else { return false }
      for row in rows where items.contains(row.uuid) { found.append(row.id) }
      position = last.id
    } while Process.now < end
    return true
  }
}
