import LatchkeySSHProtocol
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// The agent's connection to the vault. Every other client has the same kind of connection. The agent keeps no private key. It
/// reads the key for each signature, so only the vault decides which keys can sign now.
///
/// Each call waits for its answer. ``serve()`` later handles the signals that came meanwhile.
final class AgentVault {
  /// The vault's keys at one moment.
  struct View {
    /// Whether a locker is on the screen, so that no question can appear.
    let isScreenLocked: Bool
    let keys: [AgentKey]
  }

  private static let sessionCollection = "/org/freedesktop/secrets/collection/session"
  /// The time limit of calls that need no person.
  private static let limit = Duration.seconds(20)

  private var connection: ServiceConnection?
  private var channel: SecretChannel?
  private var slots: [BusSlot] = []
  private var source: EventSource?
  private let loop: EventLoop
  private var prompts: [String: VaultPrompt] = [:]
  private var afterwards: [() -> Void] = []
  /// The keys of the vault's last answer; nil if anything may have changed meanwhile. The vault sends the signal of a change before
  /// any later answer.
  private var known: View?
  /// The path of the session's seal, from the vault's last answer.
  private var knownSeal: String?
  /// Whether the bus delivers the vault's signals to this program.
  private var hearsChanges = true
  private var later: EventSource?
  /// Called when the vault has erased its keys, or may have erased them.
  var onLock: () -> Void = {}

  init(loop: EventLoop) throws(SystemdError) {
    self.loop = loop
    later = try loop.addIdle { [unowned self] in
      serve()
      return false
    }
    later?.pause()
  }

  // MARK: The connection

  /// The connection, or a new connection if there is none or the vault has ended.
  private func connected() throws(BusError) -> ServiceConnection {
    if let connection, !connection.isLost { return connection }
    disconnect()
    let new: ServiceConnection
    do throws(ConnectionFailure) { new = try ServiceConnection() } catch { throw .disconnected("no vault: \(error)") }
    do {
      slots = [
        try new.bus.watchPeer(new.owner) { [unowned self] in
          afterwards.append { [unowned self] in disconnect() }
        },
        // This watch comes first, because the vault may be unlocked again before its next answer.
        try new.watchState { [unowned self] state in if state != "unlocked" { onLock() } },
        try new.bus.matchSignal(
          sender: new.owner, installed: { [unowned self] error in if error != nil { hearsChanges = false } }
        ) { [unowned self] _ in forget() },
      ]
      source = try loop.addIO(fd: new.loop.descriptor, events: .readable) { [unowned self] _ in serve() }
    } catch { throw .failed("\(error)") }
    connection = new
    return new
  }

  private func disconnect() {
    guard connection != nil else { return }
    source = nil
    slots = []
    channel = nil
    forget()
    let former = connection
    connection = nil
    let waiting = prompts.values
    prompts = [:]
    for prompt in waiting { prompt.end(false) }
    withExtendedLifetime(former) { onLock() }
  }

  private func forget() { (known, knownSeal) = (nil, nil) }

  /// Handles the messages that have come.
  func serve() {
    later?.pause()
    if let connection {
      do throws(BusError) { try connection.catchUp() } catch { afterwards.append { [unowned self] in disconnect() } }
      if connection.isLost { afterwards.append { [unowned self] in disconnect() } }
    }
    while !afterwards.isEmpty {
      let work = afterwards
      afterwards = []
      for one in work { one() }
    }
  }

  private func call<Value>(
    _ path: String, _ interface: String, _ member: String, build: (inout MessageWriter) throws(BusError) -> Void,
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let connection = try connected()
    // Signals may have come together with the answer. The descriptor does not report them, so they are handled in the next idle
    // moment.
    defer { later?.resume() }
    do throws(BusError) {
      return try connection.call(path, interface, member, timeout: Self.limit, build: build, read: read)
    } catch {
      if error.isStandard("Disconnected") || error.isStandard("NoReply") {
        afterwards.append { [unowned self] in disconnect() }
      }
      throw error
    }
  }

  private func openChannel() throws(BusError) -> SecretChannel {
    let connection = try connected()
    if let channel { return channel }
    let new = try SecretChannel(connection)
    channel = new
    return new
  }

  // MARK: Keys

  /// The keys of the last ``look()``, if nothing has changed meanwhile. A screen locker may have appeared since that look.
  var lastView: View? { hearsChanges && connection?.isLost == false ? known : nil }

  /// All keys. The session's keys come first. Both groups are in the order in which the keys were stored.
  func look() throws(BusError) -> View {
    known = nil
    let connection = try connected()
    // A mark for the beginning of the look. A signal during the look removes it.
    known = View(isScreenLocked: true, keys: [])
    do throws(BusError) {
      let view = try lookAnew()
      known = known == nil || connection !== self.connection ? nil : view
      return view
    } catch {
      known = nil
      throw error
    }
  }

  private func lookAnew() throws(BusError) -> View {
    let (isScreenLocked, own) = try call(ServiceConnection.root, ServiceConnection.keychain, "Find") { out in
      out.appendArray("a{ss}", of: [[KeyItem.schemaName: KeyItem.schema]]) { $0.appendStringDictionary($1) }
      out.appendUInt32(0)
      out.appendObjectPath(ServiceConnection.none)
    } read: { (answer: Message) throws(BusError) in
      let isScreenLocked = try answer.readBool()
      let keys = try answer.readArray("(oaya{ss}sttssyb)") { (item: Message) throws(BusError) in
        try item.readStruct("oaya{ss}sttssyb") { (item: Message) throws(BusError) in try Self.key(item) }
      }
      try answer.skip()
      return (isScreenLocked, keys.compactMap { $0 })
    }
    let session = try sessionKeys()
    let order = { (left: AgentKey, right: AgentKey) in (left.created, left.path) < (right.created, right.path) }
    return View(isScreenLocked: isScreenLocked, keys: session.sorted(by: order) + own.sorted(by: order))
  }

  private static func key(_ item: Message) throws(BusError) -> AgentKey? {
    let path = try item.readObjectPath()
    try item.skip()
    let attributes = try item.readStringDictionary()
    let label = try item.readString()
    let created = try item.readUInt64()
    _ = try item.readUInt64()
    _ = try item.readString()
    let require = try item.readString()
    _ = try item.readByte()
    _ = try item.readBool()
    return AgentKey(
      path: path, isOfSession: false, attributes: attributes, label: label, created: created, require: require)
  }

  private func sessionKeys() throws(BusError) -> [AgentKey] {
    var keys: [AgentKey] = []
    for path in try sessionPaths() {
      do throws(BusError) {
        if let key = try sessionKey(path) { keys.append(key) }
      } catch {
        // The item may have been deleted meanwhile.
        guard error.isNoSuchObject else { throw error }
      }
    }
    return keys
  }

  private func sessionKey(_ path: String) throws(BusError) -> AgentKey? {
    let facts = try connected().facts(ofItem: path)
    return AgentKey(
      path: path, isOfSession: true, attributes: facts.attributes, label: facts.label, created: facts.created)
  }

  private func sessionPaths() throws(BusError) -> [String] {
    try call(Self.sessionCollection, ServiceConnection.collection, "SearchItems") {
      $0.appendStringDictionary([KeyItem.schemaName: KeyItem.schema])
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPaths()
    }
  }

  /// The private key of an item.
  ///
  /// - Throws: an error with ``BusError/isLocked`` if the vault does not return the key now.
  func privateKey(of key: AgentKey) throws(BusError) -> PrivateKey {
    let opened: PrivateKey?
    if key.isOfSession {
      opened = try SessionSeal(vault: self).open(key)
    } else {
      let secret = try secret(of: key.path)
      opened = try? secret.withBytes { try KeyFile.decode($0).takeKey() }
    }
    guard let opened, opened.publicKey.plainBlob == key.item.publicKey.plainBlob else {
      throw .failed("the item has another key than its attributes say")
    }
    return opened
  }

  func secret(of path: String) throws(BusError) -> Secret {
    let channel = try openChannel()
    return try call(path, ServiceConnection.item, "GetSecret") {
      $0.appendObjectPath(channel.path)
    } read: { (answer: Message) throws(BusError) in
      try channel.read(from: answer)
    }
  }

  /// The secrets of those items that can be read now, by one call.
  func secrets(of paths: [String]) throws(BusError) -> [String: Secret] {
    let channel = try openChannel()
    return try call(ServiceConnection.root, ServiceConnection.service, "GetSecrets") {
      $0.appendObjectPaths(paths)
      $0.appendObjectPath(channel.path)
    } read: { (answer: Message) throws(BusError) in
      var found: [String: Secret] = [:]
      try answer.readDictionary("o(oayays)") { (item: Message) throws(BusError) in
        let path = try item.readObjectPath()
        found[path] = try channel.read(from: item)
      }
      return found
    }
  }

  /// The path of the session's seal, an item with these attributes; nil if there is none.
  func seal(_ attributes: [String: String]) throws(BusError) -> String? {
    if let knownSeal, lastView != nil { return knownSeal }
    let found = try own(attributes)
    // The path is kept only while a view is known, because only then a signal would announce a change.
    if lastView != nil { knownSeal = found }
    return found
  }

  /// The item of the default collection that has these attributes and no others, so that ``store(_:label:attributes:inSession:)``
  /// replaces it. Items in other collections do not count.
  func own(_ attributes: [String: String]) throws(BusError) -> String? {
    let paths = try call(ServiceConnection.defaultCollection, ServiceConnection.collection, "SearchItems") {
      $0.appendStringDictionary(attributes)
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPaths()
    }
    for path in paths where try connected().get("Attributes", .dictionary, of: path) == attributes { return path }
    return nil
  }

  /// Stores an item, and replaces an item with the same attributes.
  ///
  /// - Returns: the item's path.
  @discardableResult
  func store(
    _ secret: Secret, label: String, attributes: [String: String], inSession isInSession: Bool
  ) throws(BusError) -> String {
    let channel = try openChannel()
    let collection = isInSession ? Self.sessionCollection : ServiceConnection.defaultCollection
    return try call(collection, ServiceConnection.collection, "CreateItem") { out throws(BusError) in
      out.appendItemProperties(label: label, attributes: attributes)
      try channel.write(secret, to: &out)
      out.appendBool(true)
    } read: { (answer: Message) throws(BusError) in
      let path = try answer.readObjectPath()
      guard path != ServiceConnection.none else { throw .failed("it needs a prompt") }
      return path
    }
  }

  /// Puts a key that `ssh-add` brought into the session's collection, which has the keys `present`.
  func add(
    _ key: borrowing PrivateKey, _ item: KeyItem, comment: String, among present: [AgentKey]
  ) throws(BusError) {
    let sealed = try SessionSeal(vault: self).seal(key, isFirst: try sessionPaths().isEmpty)
    // If the same key is there with other constraints, the new one replaces it.
    for old in present where old.item.publicKey == item.publicKey { try delete(old.path) }
    try store(sealed, label: comment, attributes: item.attributes, inSession: true)
  }

  /// Deletes an item. A missing item is not an error.
  func delete(_ path: String) throws(BusError) {
    do throws(BusError) {
      _ = try call(path, ServiceConnection.item, "Delete") { _ in
      } read: { (answer: Message) throws(BusError) in
        try answer.readObjectPath()
      }
    } catch { guard error.isNoSuchObject else { throw error } }
  }

  /// Revokes an unused grant for an item with requirements. The vault sees all clients of the agent as one client, so the agent's
  /// next client could use the grant.
  func takeBack(_ key: AgentKey) throws(BusError) {
    // After a new connection the vault sees another client, which has no grant to revoke.
    guard !key.require.isEmpty, let connection, !connection.isLost else { return }
    guard try !connection.get("Locked", .flag, of: key.path) else { return }
    try call(ServiceConnection.root, ServiceConnection.service, "Lock") {
      $0.appendObjectPaths([key.path])
    } read: { _ in
    }
  }

  // MARK: Prompts

  /// Lets the vault ask the person for an item's requirements.
  ///
  /// - Parameters:
  ///   - reason: the reason that the vault shows.
  ///   - completion: called later with whether the person answered; never called if this throws.
  /// - Returns: the prompt; nil if no question is needed. Then `completion` is not called.
  func unlock(
    _ path: String, reason: String, completion: @escaping (Bool) -> Void
  ) throws(BusError) -> VaultPrompt? {
    let prompt = try call(ServiceConnection.root, ServiceConnection.service, "Unlock") {
      $0.appendObjectPaths([path])
    } read: { (answer: Message) throws(BusError) in
      _ = try answer.readObjectPaths()
      return try answer.readObjectPath()
    }
    guard prompt != ServiceConnection.none, let connection else { return nil }
    let waiting = VaultPrompt(path: prompt, completion)
    do {
      waiting.slot = try connection.bus.matchSignal(
        sender: connection.owner, path: prompt, interface: ServiceConnection.prompt, member: "Completed"
      ) { [unowned self, weak waiting] message throws(BusError) in
        let isDismissed = try message.readBool()
        afterwards.append { [unowned self] in
          prompts[prompt] = nil
          waiting?.end(!isDismissed)
        }
      }
    } catch { throw .failed("\(error)") }
    prompts[prompt] = waiting
    do throws(BusError) {
      try call(prompt, ServiceConnection.toldPrompt, "Prompt") { out in
        out.appendDictionary("sv") { all in
          all.appendProperty("reason", "s") { $0.appendString(reason) }
        }
      } read: { _ in
      }
    } catch {
      prompts[prompt] = nil
      throw error
    }
    return waiting
  }

  /// Removes a prompt from the screen. Its completion is then never called.
  func withdraw(_ prompt: VaultPrompt) {
    prompt.forget()
    guard prompts.removeValue(forKey: prompt.path) != nil else { return }
    try? call(prompt.path, ServiceConnection.prompt, "Dismiss") { _ in
    } read: { _ in
    }
  }
}

/// A prompt of the vault for which the agent waits.
final class VaultPrompt {
  let path: String
  private var completion: ((Bool) -> Void)?
  fileprivate var slot: BusSlot?

  fileprivate init(path: String, _ completion: @escaping (Bool) -> Void) {
    self.path = path
    self.completion = completion
  }

  fileprivate func end(_ isAnswered: Bool) {
    let completion = self.completion
    forget()
    completion?(isAnswered)
  }

  fileprivate func forget() {
    completion = nil
    slot = nil
  }
}
