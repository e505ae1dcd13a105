import LatchkeyGcrypt
import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.Secret.Service`, at the root.
extension SecretService {
  var serviceInterface: ObjectInterface {
    ObjectInterface(
      Self.serviceName,
      methods: [
        .init(
          "OpenSession", input: [.init("s", "algorithm"), .init("v", "input")],
          output: [.init("v", "output"), .init("o", "result")], handler: openSession),
        .init(
          "CreateCollection", input: [.init("a{sv}", "properties"), .init("s", "alias")],
          output: [.init("o", "collection"), .init("o", "prompt")], handler: createCollection),
        .init(
          "SearchItems", input: [.init("a{ss}", "attributes")],
          output: [.init("ao", "unlocked"), .init("ao", "locked")], handler: searchItems),
        .init(
          "Unlock", input: [.init("ao", "objects")], output: [.init("ao", "unlocked"), .init("o", "prompt")],
          handler: unlock),
        .init(
          "Lock", input: [.init("ao", "objects")], output: [.init("ao", "locked"), .init("o", "Prompt")],
          handler: lock),
        .init(
          "GetSecrets", input: [.init("ao", "items"), .init("o", "session")],
          output: [.init("a{o(oayays)}", "secrets")], flags: .sensitive, handler: getSecrets),
        .init("ReadAlias", input: [.init("s", "name")], output: [.init("o", "collection")], handler: readAlias),
        .init("SetAlias", input: [.init("s", "name"), .init("o", "collection")], handler: setAlias),
        .init("LockService", flags: .hidden, handler: lockService),
      ],
      properties: [
        .init(
          // With its value: libsecret crashes at the next CollectionCreated when it was invalidated.
          "Collections", "ao", flags: .emitsChange,
          getter: { [unowned self] (_, out: inout MessageWriter) throws(BusError) in
            try out.appendObjectPaths(tree.places.map(\.path))
          })
      ],
      signals: [
        .init("CollectionCreated", [.init("o", "collection")]),
        .init("CollectionDeleted", [.init("o", "collection")]),
        .init("CollectionChanged", [.init("o", "collection")]),
      ])
  }

  private func openSession(_ call: MethodCall) throws(BusError) {
    let algorithm = try call.message.readString()
    let cipher: SessionCipher?
    let publicKey: [UInt8]
    switch algorithm {
    case TransportSession.plain:
      guard try call.message.peekVariant() == "s" else { throw .invalidArguments("plain takes an empty string") }
      (cipher, publicKey) = (nil, [])
    case TransportSession.encrypted:
      guard try call.message.peekVariant() == "ay" else { throw .invalidArguments("the public key must be bytes") }
      let agreed = try call.message.readVariant("ay") { (input: Message) throws(BusError) in
        try input.withBytes { (bytes: UnsafeRawBufferPointer) throws(BusError) in
          do throws(GcryptError) { return try KeyAgreement.respond(to: bytes, with: takeAgreement()) } catch {
            throw error == .outOfSecureMemory
              ? .limitsExceeded("there are too many sessions") : .invalidArguments("that is no public key")
          }
        }
      }
      (cipher, publicKey) = (agreed.cipher, agreed.publicKey)
    default:
      // Clients fall back to `plain` on this name only.
      throw .notSupported("the algorithms are \(TransportSession.plain) and \(TransportSession.encrypted)")
    }
    let isPlain = cipher == nil
    let path = freshPath(below: ObjectPath.sessions).path
    // Some clients open one for each secret and close none: they have forgotten the oldest.
    sessions.insert(TransportSession(path: path, owner: call.sender, cipher: cipher))
    watch(call.sender)
    call.reply { (out: inout MessageWriter) throws(BusError) in
      if isPlain {
        try out.appendVariant("s") { (inner: inout MessageWriter) throws(BusError) in try inner.appendString("") }
      } else {
        try out.appendVariant("ay") { (inner: inout MessageWriter) throws(BusError) in
          try inner.appendBytes(publicKey)
        }
      }
      try out.appendObjectPath(path)
    }
  }

  /// The session at a path, which must be the caller's.
  func session(_ path: String, of client: String) throws(BusError) -> TransportSession {
    guard let session = sessions[path], session.owner == client else { throw .noSession() }
    return session
  }

  private func createCollection(_ call: MethodCall) throws(BusError) {
    var label: String?
    try call.message.readDictionary("sv") { (entry: Message) throws(BusError) in
      if try entry.readString() == Self.collectionName + ".Label" {
        label = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      } else {
        try entry.skip()
      }
    }
    let alias = try call.message.readString()
    // Before it waits for anything: a prompt would keep them for as long as the person thinks.
    guard label?.utf8.count ?? 0 <= Vault.labelLimit, alias.utf8.count <= Vault.labelLimit else {
      throw BusError(.tooLarge)
    }
    if !alias.isEmpty && !vault.isVerified {
      // An alias that damage hides would be given to another collection.
      return whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) { try createCollection(label, alias, call) } catch { call.fail(error) }
      }
    }
    try createCollection(label, alias, call)
  }

  private func createCollection(_ label: String?, _ alias: String, _ call: MethodCall) throws(BusError) {
    if alias != "session", alias != Self.portalAlias, !vault.hasDatabase {
      delegate.lookAgain()
      if vault.awaitsPassword {
        let prompt = makePrompt(for: call.sender) { _ in .create(WaitingCollection(label: label ?? "", alias: alias)) }
        return call.reply { (out: inout MessageWriter) throws(BusError) in
          try out.appendObjectPath(ObjectPath.none)
          try out.appendObjectPath(prompt.path)
        }
      }
    }
    if let present = try collection(alias: alias) {
      let (vault, id) = tree.holder(present)
      if let label {
        try BusError.vault { () throws(VaultError) in
          // A client that only looks for its collection names the label that this has.
          if try vault.info(of: id).label == label { return }
          try vault.checkMayChange(collection: id)
          try vault.setLabel(ofCollection: id, label)
        }
      }
      if label != nil { collectionChanged(present, properties: ["Label", "Modified"]) }
      return answer(call, with: present)
    }
    guard alias != Self.portalAlias else { throw .notSupported("the alias portal is made by Latchkey") }
    let made = try BusError.vault { () throws(VaultError) -> CollectionPlace in
      .vault(try vault.createCollection(label: label ?? "", alias: alias.isEmpty ? nil : alias))
    }
    collectionAdded(made)
    answer(call, with: made)
  }

  /// The collection that an alias names; nil for none.
  private func collection(alias: String) throws(BusError) -> CollectionPlace? {
    if alias.isEmpty { return nil }
    if alias == "session" { return try tree.place(.session) }
    return try BusError.vault { () throws(VaultError) in try vault.alias(alias) }.map { .vault($0) }
  }

  private func answer(_ call: MethodCall, with collection: CollectionPlace) {
    call.reply { (out: inout MessageWriter) throws(BusError) in
      try out.appendObjectPath(collection.path)
      try out.appendObjectPath(ObjectPath.none)
    }
  }

  private func searchItems(_ call: MethodCall) throws(BusError) {
    let attributes = try call.message.readStringDictionary()
    try search(attributes, in: nil, call) { (out: inout MessageWriter, found: [Found]) throws(BusError) in
      try out.appendObjectPaths(found.filter(\.isReadable).map(\.path))
      try out.appendObjectPaths(found.filter { !$0.isReadable }.map(\.path))
    }
  }

  /// A found item, as a client is told of it.
  struct Found {
    let path: String
    let isReadable: Bool
  }

  /// Answers a search. What finds nothing waits until the whole database was looked at: clients take "nothing" as
  /// leave to make a new secret.
  func search(
    _ attributes: [String: String], in place: CollectionPlace?, _ call: MethodCall,
    _ answer: @escaping (inout MessageWriter, [Found]) throws(BusError) -> Void
  ) throws(BusError) {
    let client = call.sender
    let found = try findItems(attributes, in: place, for: client)
    if found.isEmpty && !vault.isVerified {
      whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) {
          let found = try findItems(attributes, in: place, for: client)
          call.reply { (out: inout MessageWriter) throws(BusError) in try answer(&out, found) }
        } catch { call.fail(error) }
      }
      return
    }
    tell(found: found, to: client)
    call.reply { (out: inout MessageWriter) throws(BusError) in try answer(&out, found) }
  }

  private func findItems(
    _ attributes: [String: String], in place: CollectionPlace?, for client: String
  ) throws(BusError) -> [Found] {
    try BusError.vault { () throws(VaultError) in
      let control = try ControlAttributes(attributes)
      let query = control.query
      var found: [Found] = []
      let isMissing = vaultIsMissing
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
    Found(path: place.path(item: item.id), isReadable: mayRead(item.id, item.readability, for: client))
  }

  /// Whether a client may read an item now; one that asks for something only after a person answered for that client.
  func mayRead(_ item: Int64, _ readability: Readability, for client: String) -> Bool {
    switch readability {
    case .locked: false
    case .guarded: grants.allow(item, for: client)
    case .open: true
    }
  }

  private func unlock(_ call: MethodCall) throws(BusError) {
    let requested = try call.message.readObjectPaths()
    if !vault.hasDatabase { delegate.lookAgain() }
    var open: [String] = []
    var closed: [String] = []
    var seen: Set<String> = []
    for path in requested where seen.insert(path).inserted {
      switch try lockState(path, for: call.sender) {
      case .open: open.append(path)
      case .closed: closed.append(path)
      case .absent: break
      }
    }
    tell(open, to: call.sender)
    let prompt = closed.isEmpty ? nil : makePrompt(for: call.sender) { _ in .unlock(closed) }
    call.reply { (out: inout MessageWriter) throws(BusError) in
      try out.appendObjectPaths(open)
      try out.appendObjectPath(prompt?.path ?? ObjectPath.none)
    }
  }

  /// How a path that a client wants unlocked is.
  enum LockState {
    case open
    case closed
    case absent
  }

  /// Whether a collection or item is open for its client. The path is echoed as it was asked for, so it may be an
  /// alias's.
  ///
  /// - Throws: the reason, where it cannot be told what an alias stands for.
  func lockState(_ path: String, for client: String) throws(BusError) -> LockState {
    do throws(BusError) {
      switch ObjectPath(path) {
      case .other: return .absent
      case .collection(let name):
        if isUnknown(name) { return vault.isMissing && !tree.isFirst(name) ? .absent : .closed }
        let place = try tree.place(name)
        // Whoever has a collection unlocked wants what is in it.
        if case .vault(let id) = place, vault.hasLockedItems(in: id) { return .closed }
        return try isLocked(place) ? .closed : .open
      case .item(let name, _):
        if isUnknown(name) { return vault.isMissing ? .absent : .closed }
        let item = try tree.item(at: path)
        let vault = tree.holder(item.collection).vault
        let readability = try BusError.vault { () throws(VaultError) in try vault.reader.readability(ofItem: item.id) }
        return mayRead(item.id, readability, for: client) ? .open : .closed
      }
    } catch {
      guard error.isNoSuchObject else { throw error }
      return .absent
    }
  }

  /// Whether a collection can be neither found nor missed: there is no vault yet, or one that cannot be read. Then it is
  /// closed, so that its client is not told that it may read, nor that there is nothing.
  private func isUnknown(_ name: ObjectPath.CollectionName) -> Bool {
    !vault.hasDatabase && name != .session && name != .alias("session")
  }

  private func getSecrets(_ call: MethodCall) throws(BusError) {
    let paths = try call.message.readObjectPaths()
    let session = try session(try call.message.readObjectPath(), of: call.sender)
    let client = call.sender
    call.reply(sensitive: true) { [self] (out: inout MessageWriter) throws(BusError) in
      try out.open("a", "{o(oayays)}")
      var answered: Set<String> = []
      for path in paths where answered.insert(path).inserted {
        // What is gone or locked is left out; the rest is still wanted.
        guard case .item(let name, let id) = ObjectPath(path), let place = try? tree.place(name) else { continue }
        let (vault, collection) = tree.holder(place)
        let granted = readingGrant(ItemPlace(collection: place, id: id), for: client)
        let opened: OpenedSecret? = try BusError.vault { () throws(VaultError) in
          try vault.reader.secretIfReadable(ofItem: id, in: collection, granted: granted)
        }
        guard let opened else { continue }
        try out.open("e", "o(oayays)")
        try out.appendObjectPath(path)
        try session.write(opened.secret, contentType: opened.contentType, to: &out)
        try out.close()
      }
      try out.close()
    }
  }

  /// Writes an item's secret for a session.
  func write(
    _ item: ItemPlace, _ session: TransportSession, for client: String, to out: inout MessageWriter
  ) throws(BusError) {
    let vault = tree.holder(item.collection).vault
    let granted = readingGrant(item, for: client)
    let opened: OpenedSecret
    do throws(VaultError) { opened = try vault.reader.secret(ofItem: item.id, granted: granted) } catch {
      if error == .needsGrant, let problem = fingerProblems[item.id] {
        throw .isLocked("no finger opens it: \(problem)")
      }
      throw BusError(error)
    }
    try session.write(opened.secret, contentType: opened.contentType, to: &out)
  }

  private func readAlias(_ call: MethodCall) throws(BusError) {
    let name = try call.message.readString()
    let path = try path(alias: name)
    if path == ObjectPath.none && !vault.isVerified {
      // As with a search that finds nothing: clients then make a collection.
      return whenVerified { [weak self] in
        guard let self else { return }
        do throws(BusError) {
          let path = try self.path(alias: name)
          call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(path) }
        } catch { call.fail(error) }
      }
    }
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(path) }
  }

  /// Where an alias leads.
  private func path(alias: String) throws(BusError) -> String {
    if alias != "session" && vault.collections.isEmpty {
      delegate.lookAgain()
      if vault.hasNoDatabaseYet {
        return Vault.firstAliases.contains(alias) ? CollectionTree.firstPlace.path : ObjectPath.none
      }
      // One that cannot be read cannot be asked.
      if vault.collections.isEmpty { return ObjectPath.none }
    }
    return try collection(alias: alias)?.path ?? ObjectPath.none
  }

  private func setAlias(_ call: MethodCall) throws(BusError) {
    let name = try call.message.readString()
    let path = try call.message.readObjectPath()
    guard name != "session", name != Self.portalAlias else {
      throw .notSupported("the alias \(name) cannot be changed")
    }
    guard !name.isEmpty else { throw .invalidArguments("an alias has a name") }
    var target: Int64?
    if path != ObjectPath.none {
      guard case .vault(let id) = try tree.collection(at: path) else {
        throw .notSupported("the session collection has no other alias")
      }
      target = id
    }
    try BusError.vault { () throws(VaultError) in
      // Clients would write elsewhere what belongs into a collection that is locked.
      if let present = try vault.alias(name), present != target { try vault.checkMayChange(collection: present) }
      try vault.setAlias(name, to: target)
    }
    call.reply()
  }
}
