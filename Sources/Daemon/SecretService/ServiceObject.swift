import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.Secret.Service`, at the root.
final class ServiceObject {
  static let name = "org.freedesktop.Secret.Service"

  private let tree: CollectionTree
  private let sessions: TransportSessions
  private let grants: AccessGrants
  private let locks: LockStates
  private let itemSearch: ItemSearch
  private let announcer: StateAnnouncer
  private let prompts: PromptTable

  init(
    _ tree: CollectionTree, sessions: TransportSessions, grants: AccessGrants, locks: LockStates, search: ItemSearch,
    announcer: StateAnnouncer, prompts: PromptTable
  ) {
    self.tree = tree
    self.sessions = sessions
    self.grants = grants
    self.locks = locks
    itemSearch = search
    self.announcer = announcer
    self.prompts = prompts
  }

  func interface(
    opening session: SessionObject, collections: CollectionCalls, locking: LockCalls
  ) -> ObjectInterface {
    ObjectInterface(
      Self.name,
      methods: [
        .init(
          "OpenSession", input: [.init("s", "algorithm"), .init("v", "input")],
          output: [.init("v", "output"), .init("o", "result")], handler: session.open),
        .init(
          "CreateCollection", input: [.init("a{sv}", "properties"), .init("s", "alias")],
          output: [.init("o", "collection"), .init("o", "prompt")], handler: collections.create),
        .init(
          "SearchItems", input: [.init("a{ss}", "attributes")],
          output: [.init("ao", "unlocked"), .init("ao", "locked")], handler: searchItems),
        .init(
          "Unlock", input: [.init("ao", "objects")], output: [.init("ao", "unlocked"), .init("o", "prompt")],
          handler: unlock),
        .init(
          "Lock", input: [.init("ao", "objects")], output: [.init("ao", "locked"), .init("o", "Prompt")],
          handler: locking.lock),
        .init(
          "GetSecrets", input: [.init("ao", "items"), .init("o", "session")],
          output: [.init("a{o(oayays)}", "secrets")], flags: .sensitive, handler: getSecrets),
        .init(
          "ReadAlias", input: [.init("s", "name")], output: [.init("o", "collection")], handler: collections.readAlias),
        .init("SetAlias", input: [.init("s", "name"), .init("o", "collection")], handler: collections.setAlias),
        .init("LockService", flags: .hidden, handler: locking.lockService),
      ],
      properties: [
        .init(
          // The signal has the value, because libsecret crashes at the next CollectionCreated if it is only invalidated.
          "Collections", "ao", flags: .emitsChange,
          getter: { [tree] in $1.appendObjectPaths(tree.places.map { tree.path(of: $0) }) })
      ],
      signals: [
        .init("CollectionCreated", [.init("o", "collection")]),
        .init("CollectionDeleted", [.init("o", "collection")]),
        .init("CollectionChanged", [.init("o", "collection")]),
      ])
  }

  private func getSecrets(_ call: MethodCall) throws(BusError) {
    let paths = try call.message.readObjectPaths()
    let session = try sessions.session(try call.message.readObjectPath(), of: call.sender)
    let client = call.sender
    call.reply(sensitive: true) { [self] out throws(BusError) in
      out.open("a", "{o(oayays)}")
      var answered: Set<String> = []
      for path in paths where answered.insert(path).inserted {
        // After a failure the answer is not sent, so no more secrets are opened.
        guard out.failure == nil else { return }
        // Items that do not exist or are locked are left out, because the client still wants the others.
        guard case .item(let name, let id) = ObjectPath(path), let place = try? tree.place(name) else { continue }
        let (vault, collection) = tree.holder(place)
        let granted = grants.read(ItemPlace(collection: place, id: id), for: client)
        let opened: OpenedSecret? = try BusError.vault { () throws(VaultError) in
          try vault.reader.secretIfReadable(ofItem: id, in: collection, granted: granted)
        }
        guard let opened else { continue }
        out.open("e", "o(oayays)")
        out.appendObjectPath(path)
        try session.write(opened.secret, contentType: opened.contentType, to: &out)
        out.close()
      }
      out.close()
    }
  }

  private func searchItems(_ call: MethodCall) throws(BusError) {
    let attributes = try call.message.readStringDictionary()
    try itemSearch.search(attributes, in: nil, call) { out, found in
      out.appendObjectPaths(found.filter(\.isReadable).map(\.path))
      out.appendObjectPaths(found.filter { !$0.isReadable }.map(\.path))
    }
  }

  private func unlock(_ call: MethodCall) throws(BusError) {
    let requested = try call.message.readObjectPaths()
    if !tree.vault.hasDatabase { locks.lookAgain() }
    var unlocked: [String] = []
    var locked: [String] = []
    var seen: Set<String> = []
    for path in requested where seen.insert(path).inserted {
      switch try locks.state(of: path, for: call.sender) {
      case .unlocked: unlocked.append(path)
      case .locked: locked.append(path)
      case .absent: break
      }
    }
    announcer.tell(unlocked, to: call.sender)
    let prompt = locked.isEmpty ? nil : prompts.make(for: call.sender) { _ in .unlock(locked) }
    call.reply { out in
      out.appendObjectPaths(unlocked)
      out.appendObjectPath(prompt?.path ?? ObjectPath.none)
    }
  }
}
