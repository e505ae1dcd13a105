/// The entries that programs have seen, by the paths of their items: the vault reports only the path of an item that another
/// program deletes or renames. Only names are kept.
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
  /// How many known entries each folder has.
  private var counts: [Folder: Int] = [:]

  /// With more entries, the known ones are forgotten, and learned anew.
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
