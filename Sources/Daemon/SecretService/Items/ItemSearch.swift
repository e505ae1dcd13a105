import LatchkeySystemd
import LatchkeyVault

/// `SearchItems` of the service's object and of collections.
final class ItemSearch {
  /// The facts of a found item that clients get.
  struct Found {
    let path: String
    let isReadable: Bool
  }

  private let tree: CollectionTree
  private let locks: LockStates
  private let announcer: StateAnnouncer
  private let gate: VerificationGate
  private var vault: Vault { tree.vault }

  init(_ tree: CollectionTree, locks: LockStates, announcer: StateAnnouncer, gate: VerificationGate) {
    self.tree = tree
    self.locks = locks
    self.announcer = announcer
    self.gate = gate
  }

  /// Answers a search. An empty result waits until the whole database was checked, because clients make a new secret if they
  /// find none.
  func search(
    _ attributes: [String: String], in place: CollectionPlace?, _ call: MethodCall,
    _ answer: @escaping (inout MessageWriter, [Found]) -> Void
  ) throws(BusError) {
    let client = call.sender
    let found = try findItems(attributes, in: place, for: client)
    if found.isEmpty && !gate.isVerified {
      gate.whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) {
          let found = try findItems(attributes, in: place, for: client)
          call.reply { answer(&$0, found) }
        } catch { call.fail(error) }
      }
      return
    }
    announcer.tell(found: found, to: client)
    call.reply { answer(&$0, found) }
  }

  private func findItems(
    _ attributes: [String: String], in place: CollectionPlace?, for client: String
  ) throws(BusError) -> [Found] {
    try BusError.vault { () throws(VaultError) in
      let control = try ControlAttributes(attributes)
      let query = control.query
      let isMissing = locks.isVaultMissing
      var (kept, passing): ([FoundItem], [FoundItem]) = ([], [])
      switch place {
      case .vault(let id): if !isMissing { kept = try vault.reader.search(query, in: id) }
      case .session(let id): passing = try tree.sessionVault.reader.search(query, in: id)
      case nil:
        if !isMissing { kept = try vault.reader.search(query) }
        passing = try tree.sessionVault.reader.search(query)
      }
      let found = merged(kept, passing, for: client)
      return control.isForControlAlone ? found.map { Found(path: $0.path, isReadable: false) } : found
    }
  }

  /// The items of the vault and of the session's collection, in one order.
  private func merged(_ kept: [FoundItem], _ passing: [FoundItem], for client: String) -> [Found] {
    var found: [Found] = []
    found.reserveCapacity(kept.count + passing.count)
    var rest = passing[...]
    let session = tree.path(of: tree.sessionPlace)
    var home: (id: Int64, path: String)?
    for item in kept {
      while let next = rest.first, FoundItem.comesFirst(next, item) {
        found.append(self.found(next, below: session, for: client))
        rest = rest.dropFirst()
      }
      if home?.id != item.collection { home = (item.collection, vault.path(ofCollection: item.collection)) }
      found.append(self.found(item, below: home?.path ?? "", for: client))
    }
    return found + rest.map { self.found($0, below: session, for: client) }
  }

  private func found(_ item: FoundItem, below collection: String, for client: String) -> Found {
    Found(path: "\(collection)/\(item.id)", isReadable: locks.mayRead(item.id, item.readability, for: client))
  }
}
