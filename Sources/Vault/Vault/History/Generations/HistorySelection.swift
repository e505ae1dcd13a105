import LatchkeyClassRules

/// Which items of a generation are meant.
public enum HistorySelection: Sendable {
  /// Everything in the generation.
  case everything
  /// The items of the collections with this label in the generation, or with this number. For a deleted collection, the number is
  /// the number in the generation.
  case collection(String, id: Int64? = nil)
  /// The items that have all these attributes in the generation.
  case attributes([String: String])
  /// The items with these numbers, in the generation or in the vault. No two items ever have the same number.
  case numbers(Set<Int64>)
}

/// A selection, together with the vault's facts about it.
struct SelectedItems {
  let selection: HistorySelection
  /// The uuids of the items that the vault has under the numbers of the selection.
  private var chosen: Set<[UInt8]> = []

  init(_ selection: HistorySelection, _ vault: Vault) throws(VaultError) {
    self.selection = selection
    if case .numbers(let numbers) = selection { chosen = try vault.reader.uuids(ofItems: numbers) }
  }

  func includes(_ item: PastItem, of past: OpenedGeneration) -> Bool {
    switch selection {
    case .everything: true
    case .collection(let label, let id):
      past.label(of: item.collection) == label || (past.home(of: item)?.row.id ?? item.row.collection) == id
    case .attributes(let wanted):
      item.opened.map { GenericSchema.matches($0.metadata.attributes, wanted) } ?? false
    case .numbers(let numbers): numbers.contains(item.row.id) || chosen.contains(item.row.uuid)
    }
  }
}
