/// One step of a search, with the items that the screen shows first.
struct FoundStep: Sendable {
  /// How many items the first step finds: as many as the screen has room for.
  static let firstLimit: UInt32 = 256
  /// How many rows a search shows at first. GTK makes 200 widgets for a longer list, which takes longer than the next key.
  static let firstRows = 32

  let page: VaultLink.FoundPage
  /// How many of the found items were asked for, from the first one.
  let described: Int
  let items: [ShownItem]

  /// Takes the step.
  ///
  /// - Parameter isDescribed: whether it asks for the first items, so that each row is drawn once.
  init(
    _ link: VaultLink, _ path: String, _ words: [String], from next: UInt64, isDescribed: Bool
  ) throws(Problem) {
    page = try link.search(path, words, from: next, limit: next == 0 ? Self.firstLimit : 4096)
    // A list that is complete is sorted, which needs every label.
    let wanted = page.next == 0 && words.isEmpty ? Int(Self.firstLimit) : Self.firstRows
    described = isDescribed ? wanted : 0
    items = try link.describe(page.items.prefix(described).map { "\(path)/\($0)" })
  }
}
