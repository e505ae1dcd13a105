/// One step of a search, with the items that the screen shows first.
struct FoundStep: Sendable {
  /// How many items the first step finds: about as many as a screen has room for.
  static let firstLimit: UInt32 = 256
  /// How many rows a search shows at first. For a longer list GTK makes 200 widgets, and a person types the next key before they
  /// are made.
  static let firstRows = 32

  let page: VaultLink.FoundPage
  /// For how many of the found items this step has asked for labels, counted from the first item.
  let described: Int
  let items: [ShownItem]

  /// Asks the vault.
  ///
  /// - Parameter isDescribed: whether the step also asks for the labels of the first items. Then each row is drawn only once.
  init(
    _ link: VaultLink, _ path: String, _ words: [String], from next: UInt64, isDescribed: Bool
  ) throws(Problem) {
    page = try link.search(path, words, from: next, limit: next == 0 ? Self.firstLimit : 4096)
    // A complete list is sorted by label, so the step needs every label.
    let wanted = page.next == 0 && words.isEmpty ? Int(Self.firstLimit) : Self.firstRows
    described = isDescribed ? wanted : 0
    items = try link.describe(page.items.prefix(described).map { "\(path)/\($0)" })
  }
}
