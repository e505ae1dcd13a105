import LatchkeyBackup

// Matches the collections of a backup with the vault's collections.
extension VaultCollections {
  private enum Mark: CaseIterable {
    case uuid, purpose, label
  }

  private struct Free {
    let collection: OpenCollection
    let label: String
  }

  /// For each collection of `theirs`, the matching one of `free`, if there is one. Identical collections are matched first, then
  /// collections of the same purpose, then of the same label, so that a weaker match does not prevent a better one.
  func counterparts(
    of theirs: [BackupCollection], among free: [OpenCollection]
  ) throws(VaultError) -> [OpenCollection?] {
    var free: [Free] = try free.map { collection throws(VaultError) in
      Free(collection: collection, label: try info(of: collection.row.id).label)
    }
    var found = [OpenCollection?](repeating: nil, count: theirs.count)
    for mark in Mark.allCases {
      for index in theirs.indices where found[index] == nil {
        guard !free.isEmpty else { return found }
        guard let match = try counterpart(of: theirs[index], by: mark, among: free) else { continue }
        found[index] = match
        free.removeAll { $0.collection === match }
      }
    }
    return found
  }

  private func counterpart(
    of theirs: BackupCollection, by mark: Mark, among free: [Free]
  ) throws(VaultError) -> OpenCollection? {
    switch mark {
    case .uuid: return free.first { $0.collection.row.uuid == theirs.uuid }?.collection
    case .purpose:
      for (name, purpose) in BackupCollection.Aliases.names
      where purpose != .standard && theirs.aliases.contains(purpose) {
        if let id = try alias(name), let same = free.first(where: { $0.collection.row.id == id }) {
          return same.collection
        }
      }
      return nil
    case .label:
      let named = free.filter { $0.label == theirs.label }.map(\.collection)
      return named.first { !$0.isLockedByItself } ?? named.first
    }
  }
}
