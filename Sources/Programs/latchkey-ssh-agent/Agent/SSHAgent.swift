import Glibc
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// The agent: answers the requests of its clients with the keys of the vault.
final class SSHAgent {
  /// `ssh-add` can add no more keys than this to a session.
  private static let keyLimit = 256
  /// How many signatures of one program may wait for the person. An ssh that forwards counts as one program, for all clients on the
  /// remote host.
  private static let waitingLimit = 16
  /// If more clients connect, the agent disconnects the client that has been silent for longest.
  private static let clientLimit = 512
  /// How long the agent accepts no connection after it ran out of descriptors.
  private static let acceptPause = Duration.milliseconds(500)
  private static let acceptLimit = 32

  private let loop: EventLoop
  private let listener: FileDescriptor
  private let vault: AgentVault
  private let questions: QuestionQueue
  /// The libraries that may speak to security keys.
  private let providers: ProviderList
  /// The signature that a security key is making now.
  private var touching: SecurityKeySigning?
  private var lock: AgentLock
  private var source: EventSource?
  private var acceptTimer: EventSource?
  private var connections: [ObjectIdentifier: AgentConnection] = [:]
  private var signings: [ObjectIdentifier: Signing] = [:]
  private var turns: SigningTurns?
  /// Keys for which the person has allowed signatures until the next lock.
  private var allowed: Set<[UInt8]> = []
  private var hosts = HostAllowances()
  /// Keys of the vault that a client removed. The agent does not offer them until the next lock.
  private var hidden: Set<[UInt8]> = []
  private var timers: [EventSource] = []
  /// Enabled while the answer to a wrong passphrase is delayed.
  private var unlockPause: EventSource?

  /// - Parameters:
  ///   - listener: a local socket of streams that listens.
  ///   - program: the program that asks the person questions.
  ///   - arguments: the program's arguments.
  ///   - providers: the libraries that may use security keys, besides OpenSSH's own.
  init(
    listener: consuming FileDescriptor, loop: EventLoop, program: String, arguments: [String], providers: ProviderList
  ) throws {
    self.loop = loop
    self.providers = providers
    self.listener = listener
    vault = try AgentVault(loop: loop)
    questions = QuestionQueue(loop: loop, program: program, arguments: arguments)
    lock = try AgentLock()
    vault.onLock = { [unowned self] in locked() }
    turns = try SigningTurns(loop: loop) { [unowned self] in begin($0) }
    // Created now, because the first timer of a clock needs a descriptor.
    acceptTimer = try loop.addTimer(after: Self.acceptPause) { [unowned self] in source?.resume() }
    acceptTimer?.pause()
    source = try loop.addIO(fd: self.listener.number, events: .readable) { [unowned self] _ in accept() }
  }

  /// Called when the vault has erased keys. The person's earlier answers end with the keys.
  private func locked() {
    allowed = []
    hosts = HostAllowances()
    hidden = []
    for signing in signings.values { signing.isOutdated = true }
    touching?.forget()
    for signing in turns?.waiting ?? [] { fail(signing) }
    questions.refuseAll()
  }

  /// Ends signatures that wait for the person or for another signature.
  private func refuse(where isRefused: (Signing) -> Bool) {
    let refused = signings.values.filter(isRefused)
    for signing in refused { signing.isOutdated = true }
    for signing in refused { withdraw(signing) }
  }

  // MARK: Clients

  private func accept() {
    for _ in 0..<Self.acceptLimit {
      if connections.count >= Self.clientLimit, !makeRoom(1) { return pauseAccepting() }
      let socket: FileDescriptor
      do throws(PosixError) {
        guard let next = try listener.acceptStream() else { return }
        socket = next
      } catch {
        // No descriptor is left, even for the vault's bus, so this disconnects silent clients. It also pauses, because the waiting
        // client would otherwise trigger this again at once.
        makeRoom(connections.count / 2)
        return pauseAccepting()
      }
      let connection = AgentConnection(socket, loop: loop) { [unowned self] connection, message in
        handle(message, of: connection)
      } ended: { [unowned self] connection in
        if let signing = signings[ObjectIdentifier(connection)] { withdraw(signing) }
        // The connection's own handler is running, so the connection must stay until this handler has ended.
        ended.append(connections.removeValue(forKey: ObjectIdentifier(connection)))
        cleaner?.resume()
      }
      if let connection, !connection.hasEnded { connections[ObjectIdentifier(connection)] = connection }
    }
  }

  /// Disconnects the clients that have been silent for longest. A client that waits for an answer is not silent.
  ///
  /// - Returns: whether there was such a client.
  @discardableResult
  private func makeRoom(_ count: Int) -> Bool {
    let silent = connections.values.filter { !$0.isWaiting }.sorted { $0.lastUse < $1.lastUse }.prefix(count)
    for client in silent { client.end() }
    return !silent.isEmpty
  }

  private func pauseAccepting() {
    source?.pause()
    acceptTimer?.rearm(after: Self.acceptPause)
  }

  private var ended: [AgentConnection?] = []
  private lazy var cleaner = try? loop.addIdle { [unowned self] in
    ended = []
    return false
  }

  // MARK: Requests

  private func handle(_ body: borrowing SecureBytes, of connection: AgentConnection) {
    var reader = SSHReader(0..<body.count)
    let number = try? reader.byte(body.bytes)
    guard let message = number.flatMap({ AgentMessage(rawValue: $0) }) else { return connection.answer(.failure) }
    // The agent accepts a binding even while it is locked. After a refusal, ssh would continue, and the connection would look
    // local.
    if lock.isLocked, message != .unlock, message != .extensionRequest {
      // A locked agent offers no keys, as OpenSSH's agent does.
      return message == .requestIdentities ? connection.answer(Self.identities([])) : connection.answer(.failure)
    }
    do {
      switch message {
      case .requestIdentities: connection.answer(Self.identities(try offered(to: connection).keys))
      case .signRequest: try sign(body.bytes, &reader, connection)
      case .addIdentity: try add(body.bytes, &reader, isConstrained: false, connection)
      case .addConstrained: try add(body.bytes, &reader, isConstrained: true, connection)
      case .removeIdentity: try remove(try reader.octets(body.bytes), connection)
      case .removeAllIdentities: try removeAll(connection)
      // Another machine must neither lock nor unlock the agent.
      case .lock where connection.bindings.isForwarded, .unlock where connection.bindings.isForwarded:
        connection.answer(.failure)
      case .lock:
        let passphrase = try reader.string(body.bytes)
        guard lock.lock(body.bytes.extracting(passphrase)) else { return connection.answer(.failure) }
        refuse { _ in true }
        hosts = HostAllowances()
        connection.answer(.success)
      case .unlock: unlock(body.bytes.extracting(try reader.string(body.bytes)), connection)
      case .extensionRequest: try extend(body.bytes, &reader, connection)
      default: connection.answer(.failure)
      }
    } catch { connection.answer(.failure) }
  }

  private static func identities(_ keys: [AgentKey]) -> [UInt8] {
    var out = SSHWriter(.identities)
    out.number(UInt32(keys.count))
    for key in keys {
      out.string(key.item.publicKey.blob)
      out.text(PublicKey.oneLine(key.comment))
    }
    return out.bytes
  }

  /// The keys that a client may see, each once, and whether a locker is on the screen.
  private func offered(to connection: AgentConnection) throws(BusError) -> AgentVault.View {
    let view = try present()
    var seen: Set<[UInt8]> = []
    let keys = view.keys.filter { key in
      connection.bindings.permit(key.destinations, user: nil) && seen.insert(key.item.publicKey.blob).inserted
    }
    return AgentVault.View(isScreenLocked: view.isScreenLocked, keys: keys)
  }

  /// All keys, except expired and removed keys.
  ///
  /// - Parameter known: keys that an earlier look at the vault found.
  private func present(_ known: AgentVault.View? = nil) throws(BusError) -> AgentVault.View {
    let view = if let known { known } else { try vault.look() }
    let now = UInt64(Process.sinceBoot / 1000)
    var keys: [AgentKey] = []
    for key in view.keys {
      if let expiry = key.item.expiry, expiry <= now {
        // A client of the agent must not delete an item of the vault, so the agent only stops offering such a key.
        if key.isOfSession { try vault.delete(key.path) }
        forgetAnswers(about: key)
      } else if key.isOfSession || !hidden.contains(key.item.publicKey.blob) {
        keys.append(key)
      }
    }
    return AgentVault.View(isScreenLocked: view.isScreenLocked, keys: keys)
  }

  private func extend(
    _ bytes: RawSpan, _ reader: inout SSHReader, _ connection: AgentConnection
  ) throws(SSHReader.Malformed) {
    switch try reader.text(bytes) {
    case AgentMessage.query:
      var out = SSHWriter(.extensionResponse)
      for name in [AgentMessage.query, AgentMessage.query, AgentMessage.sessionBind] { out.text(name) }
      connection.answer(out.bytes)
    case AgentMessage.sessionBind:
      connection.answer(connection.bindings.bind(bytes, &reader) ? .success : .extensionFailure)
    default: connection.answer(.failure)
    }
  }

  private func unlock(_ passphrase: RawSpan, _ connection: AgentConnection) {
    // During the delay after a wrong passphrase, the agent checks no other passphrase, even from another client.
    guard !(unlockPause?.isEnabled ?? false) else { return connection.answer(.failure) }
    guard !lock.unlock(passphrase) else { return connection.answer(.success) }
    // The delay grows with each wrong passphrase.
    unlockPause = try? loop.addTimer(after: .milliseconds(100 * lock.failures)) { [weak connection] in
      connection?.answer(.failure)
    }
  }

  /// Keeps a timer alive at least until it has fired.
  private func keep(_ timer: EventSource?) {
    timers.removeAll { !$0.isEnabled }
    if let timer { timers.append(timer) }
  }

  // MARK: Adding and removing

  private func add(
    _ bytes: RawSpan, _ reader: inout SSHReader, isConstrained: Bool, _ connection: AgentConnection
  ) throws {
    let key = try PrivateKey(bytes, &reader)
    let comment = try reader.text(bytes)
    let constraints = isConstrained ? try KeyConstraints(bytes, &reader) : KeyConstraints()
    let provider = self.provider(constraints.provider, of: connection)
    // OpenSSH's ssh-add names a provider for each security key, and never for another key.
    guard reader.isAtEnd, key.isConsistent, (key.securityKey == nil) == (constraints.provider == nil),
      (provider == nil) == (constraints.provider == nil)
    else { return connection.answer(.failure) }
    let now = UInt64(Process.sinceBoot / 1000)
    let expiry = constraints.lifetime.flatMap { $0 == 0 ? nil : now + UInt64($0) }
    let item = KeyItem(
      key.publicKey, asking: constraints.confirms ? .always : .never, expiry: expiry,
      destinations: constraints.destinations,
      provider: provider == SecurityKey.internalProvider ? nil : provider)
    let known = try vault.look().keys
    // `ssh-add` does not prove that the client has the security key's device. A key from a remote client must not hide a working
    // key.
    if key.securityKey != nil, RequestOrigin(connection.bindings, Asker(pid: connection.peer.pid)) != .here,
      known.contains(where: { $0.item.publicKey.plainBlob == key.publicKey.plainBlob })
    {
      return connection.answer(.failure)
    }
    let former = known.filter(\.isOfSession)
    guard former.count < Self.keyLimit else { return connection.answer(.failure) }
    try vault.add(key, item, comment: comment, among: former)
    hidden.remove(key.publicKey.blob)
    if let lifetime = constraints.lifetime, lifetime > 0 {
      keep(try loop.addTimer(after: .seconds(Int(lifetime))) { [unowned self] in _ = try? present() })
    }
    connection.answer(.success)
  }

  /// The library that a client named for a security key, by its whole path; nil if the library is not allowed. A client on another
  /// machine may name no library.
  private func provider(_ name: String?, of connection: AgentConnection) -> String? {
    guard let name, name.lowercased() != SecurityKey.internalProvider else {
      return name.map { _ in SecurityKey.internalProvider }
    }
    guard RequestOrigin(connection.bindings, Asker(pid: connection.peer.pid)) == .here else { return nil }
    return allowed(provider: name)
  }

  private func allowed(provider name: String) -> String? {
    guard let whole = realpath(name, nil) else { return nil }
    defer { free(whole) }
    let path = String(cString: whole)
    return providers.allows(path) ? path : nil
  }

  private func remove(_ blob: [UInt8], _ connection: AgentConnection) throws(BusError) {
    let keys = try offered(to: connection).keys.filter { $0.item.publicKey.blob == blob }
    try remove(keys)
    connection.answer(keys.isEmpty ? .failure : .success)
  }

  private func removeAll(_ connection: AgentConnection) throws(BusError) {
    try remove(try present().keys)
    connection.answer(.success)
  }

  /// Deletes keys of the session. The agent stops offering keys of the vault until the next lock, because a client of the agent
  /// must not delete an item of the vault.
  private func remove(_ keys: [AgentKey]) throws(BusError) {
    for key in keys {
      if key.isOfSession { try vault.delete(key.path) }
      hidden.insert(key.item.publicKey.blob)
      forgetAnswers(about: key)
    }
    refuse { signing in keys.contains { $0.path == signing.key.path } }
  }

  /// Forgets the person's answers about a key, so that a removed key needs a new answer when it comes back.
  private func forgetAnswers(about key: AgentKey) {
    allowed.remove(key.item.publicKey.blob)
    hosts.forget(key)
  }

  // MARK: Signing

  private func sign(_ bytes: RawSpan, _ reader: inout SSHReader, _ connection: AgentConnection) throws {
    let blob = try reader.octets(bytes)
    let data = try reader.octets(bytes)
    let flags = SignatureFlags(rawValue: try reader.number(bytes))
    let waiting = signings.values.count { $0.connection.peer.pid == connection.peer.pid }
    guard reader.isAtEnd, waiting < Self.waitingLimit else { return connection.answer(.failure) }
    let request = SigningRequest(blob: blob, data: data, flags: flags)
    try sign(request, connection, by: vault.lastView)
  }

  /// - Parameter known: keys that an earlier look at the vault found; nil to ask the vault. Known keys are enough if the key has no
  ///   requirements and no question, and if the vault signals no change before it returns the key.
  private func sign(_ request: SigningRequest, _ connection: AgentConnection, by known: AgentVault.View?) throws {
    let (blob, data) = (request.blob, request.data)
    let view = try present(known)
    guard let key = view.keys.first(where: { $0.item.publicKey.blob == blob }) else {
      // The key may be new, so this asks the vault once more.
      return known == nil ? connection.answer(.failure) : try sign(request, connection, by: nil)
    }
    let subject = SigningSubject(data.span.bytes, by: key.item.publicKey)
    guard connection.bindings.permit(key.destinations, subject),
      subject != .unknown || key.item.publicKey.signsUnknownData
    else { return known == nil ? connection.answer(.failure) : try sign(request, connection, by: nil) }
    let signing = Signing(
      key: key, request, subject: subject, connection: connection, isByKnown: known != nil)
    let asker = Asker(pid: connection.peer.pid)
    // If the key has requirements, the vault itself asks the person, and shows our reason.
    let isAsked = key.require.isEmpty && mustAsk(about: key, connection, asker)
    guard known == nil || !isAsked && signing.turn == nil else { return try sign(request, connection, by: nil) }
    // Nobody sees a question behind a screen locker.
    if view.isScreenLocked, isAsked { return connection.answer(.failure) }
    signing.isScreenLocked = view.isScreenLocked
    guard isAsked else { return begin(signing) }
    signings[ObjectIdentifier(connection)] = signing
    let wording = SignatureWording(key: key, subject: subject, bindings: connection.bindings, asker: asker)
    let question = Question(wording.question) { [unowned self] isAgreed in
      signing.cancel = {}
      guard isAgreed, !signing.isOutdated else { return fail(signing) }
      if key.item.asking == .once, RequestOrigin(connection.bindings, asker) == .here { allowed.insert(blob) }
      if let host = connection.forwardingHost(by: asker), hosts.offer(key, from: host) {
        questions.ask(
          Question(wording.offer(of: host)) { [unowned self] isAgreed in if isAgreed { hosts.add(key, from: host) } })
      }
      begin(signing)
    }
    signing.cancel = { [unowned self] in questions.withdraw(question) }
    questions.ask(question)
  }

  private func mustAsk(about key: AgentKey, _ connection: AgentConnection, _ asker: Asker) -> Bool {
    if let host = connection.forwardingHost(by: asker), hosts.allow(key, from: host) { return false }
    guard RequestOrigin(connection.bindings, asker) == .here else { return true }
    switch key.item.asking {
    case .never: return false
    case .once: return !allowed.contains(key.item.publicKey.blob)
    case .always: return true
    }
  }

  /// Signs, unless the signature must wait for its turn.
  private func begin(_ signing: Signing) {
    guard let turn = signing.turn else { return finish(signing) }
    signings[ObjectIdentifier(signing.connection)] = signing
    switch turns?.enter(signing, turn) {
    case .now: break
    case .later: return
    case .never, nil: return fail(signing)
    }
    // The person may have answered for an earlier client that had just left. This revokes the unused grant.
    do throws(BusError) { try vault.takeBack(signing.key) } catch { return fail(signing) }
    signing.isOutdated ? fail(signing) : finish(signing)
  }

  private func fail(_ signing: Signing) {
    end(signing)
    signing.connection.answer(.failure)
  }

  /// Ends a waiting signature.
  private func withdraw(_ signing: Signing) {
    signing.cancel()
    signing.cancel = {}
    fail(signing)
  }

  /// Forgets a signature, and gives the turn to the next signature.
  private func end(_ signing: Signing) {
    let place = ObjectIdentifier(signing.connection)
    if signings[place] === signing { signings[place] = nil }
    // An unused grant must be revoked before the next signature's turn.
    if let turn = signing.turn, !signing.wasMade, turns?.has(turn, signing) ?? false {
      try? vault.takeBack(signing.key)
    }
    turns?.leave(signing)
  }

  /// Reads the key from the vault and signs. If the item is locked, the vault asks the person first.
  private func finish(_ signing: Signing) {
    do throws(BusError) {
      let key = try vault.privateKey(of: signing.key)
      if key.securityKey != nil { return touch(key, signing) }
      if signing.isByKnown, vault.lastView == nil { return repeated(signing) }
      let data = signing.request.data
      // If the vault was locked meanwhile, the person's answer no longer counts.
      guard !signing.isOutdated, let signature = key.sign(data.span.bytes, signing.request.flags) else {
        return fail(signing)
      }
      succeed(signing, signature)
    } catch {
      guard !signing.isByKnown else { return repeated(signing) }
      guard error.isLocked, !signing.isScreenLocked, !signing.wasUnlocked else { return fail(signing) }
      signing.wasUnlocked = true
      unlock(for: signing)
    }
  }

  /// Starts again by asking the vault, because something has changed.
  private func repeated(_ signing: Signing) {
    do { try sign(signing.request, signing.connection, by: nil) } catch { fail(signing) }
  }

  private func succeed(_ signing: Signing, _ signature: [UInt8]) {
    signing.wasMade = true
    end(signing)
    var out = SSHWriter(.signature)
    out.string(signature)
    signing.connection.answer(out.bytes)
  }

  private func wording(of signing: Signing) -> SignatureWording {
    SignatureWording(
      key: signing.key, subject: signing.subject, bindings: signing.connection.bindings,
      asker: Asker(pid: signing.connection.peer.pid))
  }

  /// Signs with a security key, which takes as long as the person needs.
  private func touch(_ key: consuming PrivateKey, _ signing: Signing) {
    // Any program can write the item's attributes, so the provider is checked again.
    guard !signing.isOutdated, signing.key.item.provider.map({ allowed(provider: $0) == $0 }) ?? true else {
      return fail(signing)
    }
    let touch = SecurityKeySigning(
      key, of: signing.request.data, wording: wording(of: signing), canAsk: !signing.isScreenLocked,
      questions: questions, loop: loop
    ) { [unowned self] signature in
      touching = nil
      signing.cancel = {}
      // The key may have been removed or may have expired meanwhile.
      let isThere = (try? present())?.keys.contains { $0.path == signing.key.path } ?? false
      guard let signature, isThere, !signing.isOutdated else { return fail(signing) }
      succeed(signing, signature)
    }
    touching = touch
    signing.wasTouchAsked = touch.needsTouch
    signing.cancel = { [unowned self] in
      touching = nil
      touch.cancel()
    }
    touch.begin()
  }

  /// Lets the vault ask the person for the item's requirements.
  private func unlock(for signing: Signing) {
    signings[ObjectIdentifier(signing.connection)] = signing
    let wording = wording(of: signing)
    do throws(BusError) {
      let path = signing.key.isOfSession ? try SessionSeal(vault: vault).path : signing.key.path
      guard let path else { return fail(signing) }
      let prompt = try vault.unlock(path, reason: wording.reason) { [unowned self] isAnswered in
        signing.cancel = {}
        isAnswered ? finish(signing) : fail(signing)
      }
      guard let prompt else { return finish(signing) }
      signing.cancel = { [unowned self] in vault.withdraw(prompt) }
    } catch { fail(signing) }
  }
}
