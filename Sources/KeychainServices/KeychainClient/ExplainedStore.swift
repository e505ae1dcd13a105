import LatchkeySecretClient
import Security

/// The vault's items, where a call that found something locked tells why: `errSecInteractionNotAllowed` alone does not.
struct ExplainedStore: ItemStore {
  private let store: VaultStore

  init(_ store: VaultStore) { self.store = store }

  var accessGroups: AccessGroups { store.accessGroups }

  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem {
    try explained { () throws(ItemFailure) in try store.add(item) }
  }

  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem] {
    try explained { () throws(ItemFailure) in try store.items(matching: query) }
  }

  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int {
    try explained { () throws(ItemFailure) in try store.update(query, with: changes) }
  }

  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int {
    try explained { () throws(ItemFailure) in try store.delete(query) }
  }

  private func explained<Result>(_ call: () throws(ItemFailure) -> Result) throws(ItemFailure) -> Result {
    do { return try call() } catch {
      guard error.status == errSecInteractionNotAllowed else { throw error }
      throw error.explained(byState: try? store.vaultState())
    }
  }
}

extension ItemFailure {
  /// The same failure, with the vault's state as its cause if that is why something is locked.
  func explained(byState vaultState: String?) -> ItemFailure {
    let found = FailureCause(vaultState: vaultState)
    // A vault that restarted beneath a prompt is sealed, but somebody had unlocked it before.
    if cause == .withdrawnPrompt, found == .sealed { return self }
    return ItemFailure(status, found ?? cause)
  }
}

extension FailureCause {
  /// Why something is locked in that state of the vault; nil where the state is not why.
  init?(vaultState: String?) {
    switch vaultState {
    case "sealed": self = .sealed
    case "locked": self = .locked
    default: return nil
    }
  }
}
