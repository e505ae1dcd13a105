/// A walk along the vault and a generation of it that finds out whether they have the same items, collections and keys.
struct HistoryDifference {
  private let present: Store
  private let past: Store
  private var position: Int64 = 0
  private var isBegun = false

  private static let batch = 256

  init(_ present: Store, _ past: Store) { (self.present, self.past) = (present, past) }

  /// One step.
  ///
  /// - Returns: whether they differ; nil while the answer is unknown.
  mutating func step() throws(VaultError) -> Bool? {
    guard isBegun else {
      isBegun = true
      return try content(present) == content(past) ? nil : true
    }
    let sums = try present.sums(after: position, limit: Self.batch)
    guard try sums == past.sums(after: position, limit: Self.batch) else { return true }
    guard let last = sums.last else { return false }
    position = last.item
    return nil
  }

  /// The content other than items. Changes of the access log and of the database's own generation number are no reason for a
  /// new generation.
  private func content(_ store: Store) throws(VaultError) -> [[UInt8]] {
    try store.collections().map(\.content) + store.classKeys().map(\.content) + store.aliases().map(\.content)
  }
}
