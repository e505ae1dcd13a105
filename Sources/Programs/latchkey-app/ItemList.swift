import LatchkeyGettext

/// The items of the chosen collections, as far as they are known, and those of them that a search finds.
struct ItemList {
  /// Below so many items, the list is sorted by label. A longer one has the newest first: labels arrive while it is on the screen,
  /// and the rows would move.
  static let sortingLimit = 5000

  private(set) var paths: [String] = []
  private var items: [ShownItem?] = []
  // Items that were read before the vault changed. They are shown until they are read again.
  private var isStale: [Bool] = []
  private var numbers: [String: Int] = [:]
  private(set) var wanted: [[UInt8]] = []
  /// The numbers of the items that are shown, in their order.
  private(set) var found: [Int] = []
  private var next = 0

  var knownCount: Int { items.count { $0 != nil } }

  /// Takes other paths. Items that stay are shown as they were until they are read again.
  mutating func replace(with new: [String]) {
    var former: [String: ShownItem] = [:]
    for (path, number) in numbers { former[path] = items[number] }
    paths = new
    items = new.map { former[$0] }
    isStale = [Bool](repeating: true, count: new.count)
    numbers = Dictionary(new.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    next = 0
    filter()
  }

  /// Everything has to be read again.
  mutating func becomeStale() {
    isStale = [Bool](repeating: true, count: paths.count)
    next = 0
  }

  /// Forgets everything, with labels and attributes.
  mutating func removeAll() { replace(with: []) }

  /// The item at a position of the list; nil if it is not known yet.
  func item(at position: Int) -> ShownItem? { found.indices.contains(position) ? items[found[position]] : nil }

  /// Searches.
  mutating func search(_ text: String) {
    wanted = ShownItem.searchWords(text)
    filter()
  }

  private mutating func filter() {
    found =
      wanted.isEmpty
      ? Array(paths.indices) : paths.indices.filter { items[$0]?.matches(wanted) ?? false }
    sort()
  }

  private mutating func sort() {
    guard paths.count <= Self.sortingLimit, !items.contains(where: { $0 == nil }) else { return }
    let titles = items.map { $0.map { $0.title.lowercased() } ?? "" }
    found.sort { (titles[$0], $0) < (titles[$1], $1) }
  }

  /// The paths that are read next: first those at these positions, then all others in their order.
  mutating func nextPaths(seen positions: [Int], limit: Int) -> [String] {
    var chosen: [Int] = []
    for position in positions where found.indices.contains(position) && isStale[found[position]] {
      chosen.append(found[position])
    }
    while chosen.count < limit, next < paths.count {
      if isStale[next] { chosen.append(next) }
      next += 1
    }
    for number in chosen { isStale[number] = false }
    return chosen.map { paths[$0] }
  }

  /// Takes what was read.
  ///
  /// - Returns: whether other items are found now, or their order is another one.
  mutating func take(_ new: [ShownItem]) -> Bool {
    var isOther = false
    for item in new {
      guard let number = numbers[item.path] else { continue }
      isOther = isOther || items[number]?.label != item.label || items[number]?.words != item.words
      items[number] = item
    }
    guard isOther, !wanted.isEmpty || paths.count <= Self.sortingLimit else { return false }
    let former = found
    filter()
    return former != found
  }
}
