import LatchkeySystemd
import LatchkeyVault

/// `SearchItems` of the service's object and of collections.
final class ItemSearch {
  /// A found item, as clients see it.
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

  /// Answers a search. An empty result waits until the whole database was checked, because clients make a new secret when
  /// they find none.
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
      var found: [Found] = []
      let isMissing = locks.isVaultMissing
      switch place {
      case .vault(let id):
        if isMissing { break }
        for item in try vault.reader.search(query, in: id) { found.append(self.found(item, .vault(id), for: client)) }
      case .session(let id):
        for item in try tree.sessionVault.reader.search(query, in: id) {
          found.append(self.found(item, .session(id), for: client))
        }
      case nil:
        for item in isMissing ? [] : try vault.reader.search(query) {
          found.append(self.found(item, .vault(item.collection), for: client))
        }
        for item in try tree.sessionVault.reader.search(query) {
          found.append(self.found(item, .session(item.collection), for: client))
        }
      }
      return control.isForControlAlone ? found.map { Found(path: $0.path, isReadable: false) } : found
    }
  }

  private func found(_ item: FoundItem, _ place: CollectionPlace, for client: String) -> Found {
    Found(path: place.path(item: item.id), isReadable: locks.mayRead(item.id, item.readability, for: client))
  }
}
