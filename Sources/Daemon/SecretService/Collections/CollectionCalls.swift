import LatchkeySystemd
import LatchkeyVault

/// The calls of the service's object by which clients create collections, and name them.
final class CollectionCalls {
  private let tree: CollectionTree
  private let locks: LockStates
  private let gate: VerificationGate
  private let prompts: PromptTable
  private let signals: Signals
  private var vault: Vault { tree.vault }

  init(
    _ tree: CollectionTree, locks: LockStates, gate: VerificationGate, prompts: PromptTable, signals: Signals
  ) {
    self.tree = tree
    self.locks = locks
    self.gate = gate
    self.prompts = prompts
    self.signals = signals
  }

  // MARK: - CreateCollection

  func create(_ call: MethodCall) throws(BusError) {
    var label: String?
    try call.message.readDictionary("sv") { (entry: Message) throws(BusError) in
      if try entry.readString() == CollectionObject.name + ".Label" {
        label = try entry.readVariant(.text)
      } else {
        try entry.skip()
      }
    }
    let alias = try call.message.readString()
    // This check comes before any wait, because a prompt would keep the texts until the person answers.
    guard label?.utf8.count ?? 0 <= VaultCollections.labelLimit, alias.utf8.count <= VaultCollections.labelLimit else {
      throw BusError(.tooLarge)
    }
    if !alias.isEmpty && !gate.isVerified {
      // Before the check, an alias that damage hides could be given to another collection.
      return gate.whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) { try create(label, alias, call) } catch { call.fail(error) }
      }
    }
    try create(label, alias, call)
  }

  private func create(_ label: String?, _ alias: String, _ call: MethodCall) throws(BusError) {
    if alias != "session", alias != PortalCollection.alias, !vault.hasDatabase {
      locks.lookAgain()
      if vault.awaitsPassword {
        let prompt = prompts.make(for: call.sender) { _ in
          .create(WaitingCollection(label: label ?? "", alias: alias))
        }
        return call.reply { out in
          out.appendObjectPath(ObjectPath.none)
          out.appendObjectPath(prompt.path)
        }
      }
    }
    if let present = try collection(alias: alias) {
      let (vault, id) = tree.holder(present)
      if let label {
        try BusError.vault { () throws(VaultError) in
          // A client that only looks for a collection names the present label.
          if try vault.collections.info(of: id).label == label { return }
          try vault.collections.checkMayChange(id)
          try vault.collections.setLabel(of: id, label)
        }
      }
      if label != nil { signals.collectionChanged(present, properties: ["Label", "Modified"]) }
      return answer(call, with: present)
    }
    guard alias != PortalCollection.alias else { throw .notSupported(.service(.portalAlias)) }
    let made = try BusError.vault { () throws(VaultError) -> CollectionPlace in
      .vault(try vault.collections.create(label: label ?? "", alias: alias.isEmpty ? nil : alias))
    }
    signals.collectionAdded(made)
    answer(call, with: made)
  }

  private func answer(_ call: MethodCall, with collection: CollectionPlace) {
    call.reply { [tree] out in
      out.appendObjectPath(tree.path(of: collection))
      out.appendObjectPath(ObjectPath.none)
    }
  }

  // MARK: - aliases

  /// The collection that an alias names; nil if the alias names no collection.
  private func collection(alias: String) throws(BusError) -> CollectionPlace? {
    if alias.isEmpty { return nil }
    if alias == "session" { return try tree.place(.session) }
    return try BusError.vault { () throws(VaultError) in try vault.collections.alias(alias) }.map { .vault($0) }
  }

  func readAlias(_ call: MethodCall) throws(BusError) {
    let name = try call.message.readString()
    let path = try path(alias: name)
    if path == ObjectPath.none && !gate.isVerified {
      // Waits like a search without a result, because clients then make a collection.
      return gate.whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) {
          let path = try self.path(alias: name)
          call.reply { $0.appendObjectPath(path) }
        } catch { call.fail(error) }
      }
    }
    call.reply { $0.appendObjectPath(path) }
  }

  /// The target of an alias.
  private func path(alias: String) throws(BusError) -> String {
    if alias != "session" && vault.collections.ids.isEmpty {
      locks.lookAgain()
      if vault.hasNoDatabaseYet {
        return Vault.firstAliases.contains(alias) ? tree.path(of: CollectionTree.firstPlace) : ObjectPath.none
      }
      // A vault that cannot be read cannot be asked.
      if vault.collections.ids.isEmpty { return ObjectPath.none }
    }
    return try collection(alias: alias).map { tree.path(of: $0) } ?? ObjectPath.none
  }

  func setAlias(_ call: MethodCall) throws(BusError) {
    let name = try call.message.readString()
    let path = try call.message.readObjectPath()
    guard name != "session", name != PortalCollection.alias else {
      throw .notSupported(.fixedAlias(name))
    }
    guard !name.isEmpty else { throw .invalidArguments("an alias must not be empty") }
    var target: Int64?
    if path != ObjectPath.none {
      guard case .vault(let id) = try tree.collection(at: path) else {
        throw .notSupported("the session collection has no other alias")
      }
      target = id
    }
    try BusError.vault { () throws(VaultError) in
      // Clients would then write the items of a locked collection elsewhere.
      if let present = try vault.collections.alias(name), present != target {
        try vault.collections.checkMayChange(present)
      }
      try vault.collections.setAlias(name, to: target)
    }
    call.reply()
  }
}
