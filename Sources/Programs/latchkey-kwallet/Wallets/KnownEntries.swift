/// The entries that programs have seen, by the paths of their items. When another program deletes or renames an item, the vault
/// reports only the item's path. This keeps names, and no secrets.
struct KnownEntries {
  struct EntryName: Equatable {
    let wallet: ExactName
    let folder: ExactName
    let name: ExactName
  }

  private struct Folder: Hashable {
    let wallet: ExactName
    let name: ExactName
  }

  private var places: [String: EntryName] = [:]
  /// The number of known entries in each folder.
  private var counts: [Folder: Int] = [:]

  /// If there are more entries, all known entries are forgotten, and later learned again.
  private static let limit = 100_000

  subscript(_ path: String) -> EntryName? {
    get { places[path] }
    set {
      if newValue != nil, places.count >= Self.limit { self = KnownEntries() }
      let former = places[path]
      guard former != newValue else { return }
      places[path] = newValue
      if let former { count(former, -1) }
      if let newValue { count(newValue, 1) }
    }
  }

  private mutating func count(_ place: EntryName, _ change: Int) {
    let folder = Folder(wallet: place.wallet, name: place.folder)
    let count = counts[folder, default: 0] + change
    counts[folder] = count > 0 ? count : nil
  }

  /// Whether an entry of the folder is known.
  func has(_ folder: ExactName, in wallet: ExactName) -> Bool {
    counts[Folder(wallet: wallet, name: folder)] != nil
  }
}
