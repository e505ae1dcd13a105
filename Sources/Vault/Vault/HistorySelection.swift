import LatchkeyClassRules

/// Which items of a generation are meant.
public enum HistorySelection: Sendable {
  /// Everything in the generation.
  case everything
  /// The items of the collections with this label in the generation, or with this number. For a deleted collection, the number
  /// is the one in the generation.
  case collection(String, id: Int64? = nil)
  /// The items that have all these attributes in the generation.
  case attributes([String: String])
  /// The items with these numbers, in the generation or in the vault. No two items ever have the same one.
  case numbers(Set<Int64>)
  /// The items with these uuids.
  case items([[UInt8]])
}

/// A selection, together with the vault's facts about it.
struct SelectedItems {
  let selection: HistorySelection
  /// The uuids of the items that the vault has under the numbers of the selection.
  private var chosen: Set<[UInt8]> = []

  init(_ selection: HistorySelection, _ vault: Vault) throws(VaultError) {
    self.selection = selection
    if case .numbers(let numbers) = selection { chosen = try vault.uuids(ofItems: numbers) }
  }

  func includes(_ item: PastItem, of past: OpenedGeneration) -> Bool {
    switch selection {
    case .everything: true
    case .collection(let label, let id):
      past.label(of: item.collection) == label || (past.home(of: item)?.row.id ?? item.row.collection) == id
    case .attributes(let wanted):
      item.opened.map { GenericSchema.matches($0.metadata.attributes, wanted) } ?? false
    case .numbers(let numbers): numbers.contains(item.row.id) || chosen.contains(item.row.uuid)
    case .items(let uuids): uuids.contains(item.row.uuid)
    }
  }
}

extension Vault {
  /// The uuids of the selected items that exist.
  func uuids(ofItems ids: Set<Int64>) throws(VaultError) -> Set<[UInt8]> {
    try database.reading { store throws(VaultError) in
      var found: Set<[UInt8]> = []
      for id in ids { if let row = try store.item(id) { found.insert(row.uuid) } }
      return found
    }
  }

  /// Whether the vault has any of these items.
  public func hasItems(_ uuids: [[UInt8]]) throws(VaultError) -> Bool {
    try database.reading { store throws(VaultError) in
      for uuid in uuids where try store.item(uuid: uuid) != nil { return true }
      return false
    }
  }
}
