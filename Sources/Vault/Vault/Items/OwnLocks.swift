import LatchkeyPosix

/// Items that were locked by themselves while their collection is unlocked.
///
/// Such a lock exists in this process only: the key of the item's class stays in memory, because other items need it, and no file
/// notes the lock. A login ends the lock, and so does the login password given for the collection. It also ends when the vault is
/// sealed.
struct OwnLocks {
  /// The locked items, each with its collection.
  private var items: [Int64: Int64] = [:]
  /// When the last explicit lock was, in microseconds since the machine started; 0 for never.
  private(set) var latest: UInt64 = 0

  var isEmpty: Bool { items.isEmpty }

  func contains(item id: Int64) -> Bool { items[id] != nil }

  func contains(itemIn collection: Int64) -> Bool { items.values.contains(collection) }

  /// The locked items of a collection.
  func items(in collection: Int64) -> [Int64] { items.filter { $0.value == collection }.map(\.key) }

  mutating func lock(item id: Int64, in collection: Int64) {
    items[id] = collection
    note()
  }

  /// Notes the explicit lock of a collection.
  mutating func lockCollection() { note() }

  private mutating func note() { latest = Process.microsecondsSinceBoot }

  mutating func forget(item id: Int64) { items[id] = nil }

  mutating func lift(of collections: Set<Int64>) {
    if !items.isEmpty { items = items.filter { !collections.contains($0.value) } }
  }

  mutating func liftAll() { items = [:] }
}
