/// The folders of each wallet that have no entry. The vault cannot store them, so they exist only as long as this program runs.
struct EmptyFolders {
  /// Every wallet has these folders, until a program removes them.
  private static let first: Set<ExactName> = [ExactName("Passwords"), ExactName("Form Data")]
  /// The limit of all names together, in bytes. Any program may create folders, and they do not disappear by themselves.
  private static let sizeLimit = 1 << 20
  /// The size that a folder counts in addition to its name.
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

  /// Called when a wallet is deleted. A later wallet of this name begins without these folders.
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
