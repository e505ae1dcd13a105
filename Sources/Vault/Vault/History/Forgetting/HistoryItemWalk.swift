import LatchkeyKeybag
import LatchkeyPosix

/// A walk along the rows of a generation for the items that must go: the named items, and items that the vault protects better. It
/// looks at every row, so a damaged index hides no item. It needs no key.
struct HistoryItemWalk {
  let store: Store
  private let items: Set<[UInt8]>
  private let present: Store?
  /// The class of each class key of the generation; empty if the classes cannot be read. Without them, no item counts as better
  /// protected.
  private let classes: [Int64: AccessibilityClass]
  private var position: Int64 = 0
  /// The numbers of the items that were found so far.
  private(set) var found: [Int64] = []
  /// Whether an item of the vault could not be read, and was not compared. Such an item is no damage of the generation.
  private(set) var isPresentUnreadable = false
  /// The uuids of the items that the vault protects better.
  private(set) var weaker: Set<[UInt8]> = []

  private static let batch = 64

  /// Begins.
  ///
  /// - Parameter present: the vault whose protection is compared; nil if only the named items must go.
  init(_ store: Store, _ items: Set<[UInt8]>, weakerThan present: Store?) {
    (self.store, self.items, self.present) = (store, items, present)
    classes = present == nil ? [:] : (try? ItemProtections(store).classes()) ?? [:]
  }

  /// Looks for a moment.
  ///
  /// - Returns: whether there are more rows.
  mutating func step() throws(VaultError) -> Bool {
    let end = Process.now + History.stepTime
    let presentClasses = present.flatMap { store in try? ItemProtections(store).classes() } ?? [:]
    if present != nil, presentClasses.isEmpty { isPresentUnreadable = true }
    repeat {
      let rows = try ItemProtections(store).after(position, limit: Self.batch)
      guard let last = rows.last else { return false }
      for row in rows {
        let isWeaker = isWeaker(row, presentClasses)
        if isWeaker { weaker.insert(row.uuid) }
        if isWeaker || items.contains(row.uuid) { found.append(row.id) }
      }
      position = last.id
    } while Process.now < end
    return true
  }

  /// Whether the vault has the item of a row, and protects it better.
  private mutating func isWeaker(
    _ row: ItemProtections.Row, _ presentClasses: [Int64: AccessibilityClass]
  ) -> Bool {
    guard let past = classes[row.classKey], let present else { return false }
    do throws(VaultError) {
      guard let now = try ItemProtections(present).of(uuid: row.uuid), let nowClass = presentClasses[now.classKey]
      else { return false }
      return row.isWeaker(past, than: now, nowClass)
    } catch {
      isPresentUnreadable = true
      return false
    }
  }
}
