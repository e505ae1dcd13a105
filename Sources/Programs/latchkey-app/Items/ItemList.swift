import LatchkeyGettext

/// The items that the vault found in the chosen collections: a number for each, and what is known of those that were on the screen.
struct ItemList {
  /// Up to so many items, the list is sorted by label, so all of them are read. A longer one has the newest item first.
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
  /// Those that a search has found so far.
  private var coming: [Place] = []
  private var known: [Place: ShownItem] = [:]
  // Items that were read since the vault changed. Others are shown as they were until they are read again.
  private var fresh: Set<Place> = []
  /// Whether the list without a search is short enough to be sorted. Nobody knows before all of it was found.
  private(set) var isShort = false
  // Once it was sorted, an item that is not known yet does not bring back the former order.
  private var wasSorted = false

  /// Takes other collections.
  mutating func choose(_ collections: [String]) {
    self = ItemList()
    self.collections = collections
  }

  /// Everything has to be read again.
  mutating func becomeStale() { fresh = [] }

  /// Forgets everything, with labels and attributes.
  mutating func removeAll() { choose(collections) }

  func path(of place: Place) -> String { "\(collections[Int(place.collection)])/\(place.item)" }

  /// The item at a position of the list; nil if it is not known yet.
  func item(at position: Int) -> ShownItem? { found.indices.contains(position) ? known[found[position]] : nil }

  /// A search begins.
  mutating func begin() { coming = [] }

  /// Takes the numbers of items that it has found in a collection.
  mutating func take(_ numbers: [UInt64], in collection: Int) {
    coming += numbers.lazy.map { Place(collection: UInt32(collection), item: $0) }
  }

  /// Whether the search has found anything yet.
  var hasComing: Bool { !coming.isEmpty }

  /// Shows what the search has found so far.
  ///
  /// - Parameter isWhole: whether it has come to its end, and found every item of the collections.
  mutating func showComing(isWhole: Bool = false) {
    if isWhole { isShort = coming.count <= Self.sortingLimit }
    found = coming
    sort()
  }

  /// The places that are read next: those at these positions, and in a short list all others.
  mutating func nextPlaces(seen positions: [Int], limit: Int) -> [Place] {
    let wanted = positions.compactMap { found.indices.contains($0) && !fresh.contains(found[$0]) ? found[$0] : nil }
    var chosen = Array(wanted.prefix(limit))
    fresh.formUnion(chosen)
    if isShort {
      let rest = Array(found.lazy.filter { [fresh] in !fresh.contains($0) }.prefix(limit - chosen.count))
      chosen += rest
      fresh.formUnion(rest)
    }
    // A long list that somebody has scrolled through.
    if known.count > 2 * Self.sortingLimit {
      let seen = Set(positions.compactMap { found.indices.contains($0) ? found[$0] : nil })
      known = known.filter { seen.contains($0.key) }
      fresh = seen.union(chosen)
    }
    return chosen
  }

  /// Takes what was read.
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

  /// Takes the first items that a search has found, which were read with it.
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
