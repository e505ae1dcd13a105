import LatchkeyGettext

/// The items that the vault found in the chosen collections: the number of each item, and the content of items that were on the
/// screen.
struct ItemList {
  /// The largest number of items that a list sorts by label. Sorting reads every item. A longer list has the newest item first.
  static let sortingLimit = 5000

  /// An item by the number of its collection in ``collections``, and its own number.
  struct Place: Hashable {
    let collection: UInt32
    let item: UInt64
  }

  /// The paths of the chosen collections.
  private(set) var collections: [String] = []
  /// The items that are shown, in their order.
  private(set) var found: [Place] = []
  /// The items that the running search has found so far.
  private var coming: [Place] = []
  private var known: [Place: ShownItem] = [:]
  // Items that were read since the vault changed. Others are shown as they were until they are read again.
  private var fresh: Set<Place> = []
  /// Whether the list without a search is short enough to be sorted. This stays false until the vault has found all items.
  private(set) var isShort = false
  // After the first sorting, an unread item no longer brings back the former order.
  private var wasSorted = false

  /// Chooses other collections, and forgets all items.
  mutating func choose(_ collections: [String]) {
    self = ItemList()
    self.collections = collections
  }

  /// Marks every item, so that it is read again.
  mutating func becomeStale() { fresh = [] }

  /// Forgets everything, with labels and attributes.
  mutating func removeAll() { choose(collections) }

  func path(of place: Place) -> String { "\(collections[Int(place.collection)])/\(place.item)" }

  /// The item at a position of the list; nil if it is not known yet.
  func item(at position: Int) -> ShownItem? { found.indices.contains(position) ? known[found[position]] : nil }

  /// Begins a search.
  mutating func begin() { coming = [] }

  /// Takes the numbers of items that the search has found in a collection.
  mutating func take(_ numbers: [UInt64], in collection: Int) {
    coming += numbers.lazy.map { Place(collection: UInt32(collection), item: $0) }
  }

  /// Whether the search has found anything yet.
  var hasComing: Bool { !coming.isEmpty }

  /// Shows what the search has found so far.
  ///
  /// - Parameter isWhole: whether the search has ended and found every item of the collections.
  mutating func showComing(isWhole: Bool = false) {
    if isWhole { isShort = coming.count <= Self.sortingLimit }
    found = coming
    sort()
  }

  /// The places that are read next: first the places at these positions, and in a short list then all others.
  mutating func nextPlaces(seen positions: [Int], limit: Int) -> [Place] {
    let wanted = positions.compactMap { found.indices.contains($0) && !fresh.contains(found[$0]) ? found[$0] : nil }
    var chosen = Array(wanted.prefix(limit))
    fresh.formUnion(chosen)
    if isShort {
      let rest = Array(found.lazy.filter { [fresh] in !fresh.contains($0) }.prefix(limit - chosen.count))
      chosen += rest
      fresh.formUnion(rest)
    }
    // After somebody has scrolled through a long list, only items on the screen stay in memory.
    if known.count > 2 * Self.sortingLimit {
      let seen = Set(positions.compactMap { found.indices.contains($0) ? found[$0] : nil })
      known = known.filter { seen.contains($0.key) }
      fresh = seen.union(chosen)
    }
    return chosen
  }

  /// Takes items that were read.
  mutating func take(_ items: [ShownItem], of places: [Place]) {
    let byPath = Dictionary(items.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    var isOther = !wasSorted
    for place in places {
      guard let item = byPath[path(of: place)] else { continue }
      isOther = isOther || known[place]?.title != item.title
      known[place] = item
    }
    if isOther { sort() }
  }

  /// Takes the first items of a search, which were read in the same step.
  mutating func take(_ items: [ShownItem], first count: Int, of numbers: [UInt64], in collection: Int) {
    let places = numbers.prefix(count).map { Place(collection: UInt32(collection), item: $0) }
    fresh.formUnion(places)
    take(items, of: places)
  }

  private mutating func sort() {
    guard isShort, wasSorted || found.allSatisfy({ known[$0] != nil }) else { return }
    wasSorted = !found.isEmpty
    let titles = found.map { known[$0]?.title.lowercased() ?? "" }
    let order = found.indices.sorted { (titles[$0], found[$1].item) < (titles[$1], found[$0].item) }
    found = order.map { [found] in found[$0] }
  }
}
