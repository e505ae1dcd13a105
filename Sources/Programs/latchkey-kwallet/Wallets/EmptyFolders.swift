/// The folders of each wallet that exist without an entry. The vault has no place for them, so they last as long as this program.
struct EmptyFolders {
  /// The folders of every wallet, until somebody removes them.
  private static let first: Set<ExactName> = [ExactName("Passwords"), ExactName("Form Data")]
  /// All names together, in bytes. Any program may create folders, and nothing uses them up.
  private static let sizeLimit = 1 << 20
  /// The size of a folder beside the bytes of its name.
  private static let sizeOfOne = 64

  private var folders: [ExactName: Set<ExactName>] = [:]
  private var size = 0

  func of(_ wallet: ExactName) -> Set<ExactName> { folders[wallet] ?? Self.first }

  /// - Returns: false if there is no more room.
  mutating func insert(_ folder: ExactName, in wallet: ExactName) -> Bool {
    guard !of(wallet).contains(folder) else { return true }
    guard size + Self.size(of: folder) <= Self.sizeLimit else { return false }
    begin(wallet)
    folders[wallet]?.insert(folder)
    size += Self.size(of: folder)
    return true
  }

  /// - Returns: whether the folder existed.
  mutating func remove(_ folder: ExactName, from wallet: ExactName) -> Bool {
    guard of(wallet).contains(folder) else { return false }
    begin(wallet)
    folders[wallet]?.remove(folder)
    size -= Self.size(of: folder)
    return true
  }

  /// The wallet is deleted. A folder of that name begins anew.
  mutating func forget(_ wallet: ExactName) {
    for folder in folders.removeValue(forKey: wallet) ?? [] { size -= Self.size(of: folder) }
  }

  private mutating func begin(_ wallet: ExactName) {
    guard folders[wallet] == nil else { return }
    folders[wallet] = Self.first
    for folder in Self.first { size += Self.size(of: folder) }
  }

  private static func size(of name: ExactName) -> Int { name.text.utf8.count + sizeOfOne }
}
