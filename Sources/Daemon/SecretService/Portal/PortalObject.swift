import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.impl.portal.Secret`, by which the portals' frontend gets the one secret of each sandboxed
/// application. The application derives the key of its files from the secret, so the secret never changes.
final class PortalObject {
  private let vault: Vault
  private let signals: Signals
  private let gate: VerificationGate
  private let clients: Clients
  private let queue: PromptQueue
  private let loop: EventLoop
  private var requests: [PortalRequest.Key: PortalRequest] = [:]
  /// The applications whose prompt gave no keys, with the time of that prompt. The list is cleared when the vault gets or loses
  /// keys.
  private var refusals: [String: ContinuousClock.Instant] = [:]
  /// The keys that were in memory when applications were last served.
  private var keys = (session: false, unlocked: false)

  private static let applicationAttribute = "app_id"
  private static let schemaAttribute = "xdg:schema"
  private static let schema = "org.freedesktop.portal.Secret"
  private static let secretSize = 64
  /// The time for which an application waits for an unlock of the vault, and for which the daemon waits for the application to
  /// read.
  private static let timeout = Duration.seconds(60)
  /// The time after a failed prompt in which the application can cause no other prompt.
  private static let silence = Duration.seconds(60)
  /// Each request holds open descriptors, so a sandboxed application must not be able to cause any number of requests.
  private static let requestLimit = (each: 8, all: 128)

  init(
    _ vault: Vault, signals: Signals, gate: VerificationGate, clients: Clients, queue: PromptQueue, loop: EventLoop
  ) {
    self.vault = vault
    self.signals = signals
    self.gate = gate
    self.clients = clients
    self.queue = queue
    self.loop = loop
  }

  var interface: ObjectInterface {
    ObjectInterface(
      "org.freedesktop.impl.portal.Secret",
      methods: [
        .init(
          "RetrieveSecret",
          input: [.init("o", "handle"), .init("s", "app_id"), .init("h", "fd"), .init("a{sv}", "options")],
          output: [.init("u", "response"), .init("a{sv}", "results")], handler: retrieveSecret)
      ],
      properties: [
        .init(
          "version", "u", flags: .constant,
          getter: { $1.appendUInt32(1) })
      ])
  }

  /// The interface of each request.
  var requestInterface: ObjectInterface {
    ObjectInterface("org.freedesktop.impl.portal.Request", methods: [.init("Close", handler: close)])
  }

  /// Whether a path is the path of a request.
  func hasRequest(at path: String) -> Bool { requests.keys.contains { $0.handle == path } }

  // MARK: - requests

  private func retrieveSecret(_ call: MethodCall) throws(BusError) {
    let key = PortalRequest.Key(owner: call.sender, handle: try call.message.readObjectPath())
    let application = try call.message.readString()
    // This check comes first, because even a refused descriptor must be checked before it is closed.
    let outlet: Outlet
    let passed = try call.message.readUnixFD()
    do throws(PosixError) { outlet = try Outlet(FileDescriptor(owning: passed)) } catch {
      throw .invalidArguments("the secret can only be written to a pipe of the user's or a local socket")
    }
    guard PortalRequest.isHandle(key.handle) else {
      throw .invalidArguments("the handle is the path of another object of this service")
    }
    guard requests[key] == nil else { throw .alreadyExists("that handle is in use") }
    guard PortalRequest.isApplicationID(application) else { throw .invalidArguments("invalid application id") }
    guard requests.count < Self.requestLimit.all,
      requests.values.count(where: { $0.application == application }) < Self.requestLimit.each
    else { throw .limitsExceeded("there are too many requests") }
    let request = PortalRequest(key, application: application, call: call, outlet: outlet)
    requests[key] = request
    clients.watch(call.sender)
    serve(request)
  }

  private func close(_ call: MethodCall) throws(BusError) {
    let key = PortalRequest.Key(owner: call.sender, handle: call.path)
    guard requests[key] != nil else { throw .accessDenied("that request is not yours") }
    call.reply()
    end(key, .cancelled)
  }

  /// - Parameter isLate: whether only the request's time limit is over, so that a prompt stays for the person.
  private func end(_ key: PortalRequest.Key, _ response: PortalRequest.Response, isLate: Bool = false) {
    guard let request = requests.removeValue(forKey: key) else { return }
    request.end(response)
    if isLate, let ticket = request.ticket { queue.leave([ticket]) } else { drop(request) }
    request.ticket = nil
  }

  /// The request needs no answer any more.
  private func drop(_ request: PortalRequest) {
    if let ticket = request.ticket { queue.cancel(ticket) }
    request.ticket = nil
  }

  /// Removes the requests of a client that has left, or of all clients.
  ///
  /// - Returns: the places in the queue that the client's requests leave.
  func removeAll(of client: String? = nil) -> [PromptTicket] {
    let gone = requests.values.filter { client == nil || $0.key.owner == client }
    for request in gone { requests[request.key] = nil }
    let tickets = gone.compactMap(\.ticket)
    for request in gone { request.ticket = nil }
    return tickets
  }

  /// Serves the applications that wait, after the vault got or lost keys.
  func stateChanged() {
    // A client that locks a collection must not have the person asked again and again.
    let present = (session: vault.hasKey(.afterFirstUnlock), unlocked: vault.isUnlocked)
    if present != keys { refusals = [:] }
    keys = present
    for request in requests.values { serve(request) }
  }

  private func serve(_ request: PortalRequest) {
    // A damaged index could hide an existing secret.
    gate.whenVerified { [weak self, weak request] in
      guard let self, let request, request.isWaiting else { return }
      do throws(VaultError) {
        let found = try secret(of: request.application)
        limit(request)
        request.deliver(found, on: loop) { [weak self, key = request.key] in self?.end(key, $0) }
      } catch {
        if isForWantOfKeys(error) {
          return wait(request, canBeAsked: error != .notCreated || vault.awaitsPassword)
        }
        Journal.log(.warning, "an application did not get its secret from the portal: \(error.explanation)")
        end(request.key, .other)
      }
    }
  }

  /// Lets an application wait for keys, or wait longer. When the vault gets keys, ``stateChanged()`` serves the application. The
  /// time limit also ends the wait, and so does a person who declines.
  private func wait(_ request: PortalRequest, canBeAsked: Bool) {
    limit(request)
    guard canBeAsked, !request.wasAsked, requests[request.key] === request else { return }
    // Without this pause, an application could cause one prompt after the other, until the person gives the password.
    if let refusal = refusals[request.application], .now - refusal < Self.silence {
      return end(request.key, .cancelled)
    }
    request.wasAsked = true
    request.ticket = queue.ask(
      .login, lifting: [], for: Caller(application: request.application)
    ) { [weak self, weak request] in
      guard let self, let request else { return }
      request.ticket = nil
      // The vault may have got keys already, without a call of ``stateChanged()``.
      if vault.hasKey(.afterFirstUnlock) { return serve(request) }
      noteRefusal(request.application)
      end(request.key, .cancelled)
    }
  }

  private func noteRefusal(_ application: String) {
    let now = ContinuousClock.now
    refusals = refusals.filter { now - $0.value < Self.silence }
    refusals[application] = now
  }

  /// Gives the request its time limit, if it has no limit yet.
  private func limit(_ request: PortalRequest) {
    let key = request.key
    do throws(SystemdError) {
      try request.limit(to: Self.timeout, on: loop) { [weak self] in self?.end(key, .other, isLate: true) }
    } catch { end(key, .other) }
  }

  /// Whether a login or unlock can fix the error.
  private func isForWantOfKeys(_ error: VaultError) -> Bool {
    switch error {
    case .isLocked, .notCreated: true
    // Without the device's index key the vault cannot even be searched. Tier key C gives the index key.
    case .unavailable: !vault.hasKey(.afterFirstUnlock)
    default: false
    }
  }

  // MARK: - secrets

  /// The application's secret, which is made at the first request. A secret that cannot be read now is never replaced.
  ///
  /// Only an item with the portal's schema counts, because any program may store an attribute of this name. The portal stores its
  /// items with the schema. An import gives the schema to the portal secrets of other providers, in any collection. The portal's
  /// own item is taken first, or else the oldest one. A later item never changes the application's secret.
  private func secret(of application: String) throws(VaultError) -> OpenedSecret {
    let collection = try vault.collections.alias(PortalCollection.alias)
    let found = try vault.reader.search(
      .attributes([Self.applicationAttribute: application, Self.schemaAttribute: Self.schema])
    ).sorted { $0.id < $1.id }
    if let item = found.first(where: { $0.collection == collection }) ?? found.first {
      return try vault.reader.secret(ofItem: item.id)
    }
    let home = if let collection { collection } else { try makeCollection() }
    let secret: SecureBytes
    do throws(SodiumError) { secret = try SecureBytes.random(count: Self.secretSize) } catch {
      throw .outOfMemory
    }
    let metadata = ItemMetadata(
      label: application.isEmpty ? "Programs outside a sandbox" : application,
      attributes: [Self.applicationAttribute: application, Self.schemaAttribute: Self.schema],
      contentType: "application/octet-stream")
    let made = try vault.writer.createItem(
      NewItem(metadata, in: home, accessibility: .afterFirstUnlock), secret: secret)
    signals.itemCreated(ItemPlace(collection: .vault(home), id: made.id))
    // The application must get the same secret for ever, so it gets the stored one.
    return try vault.reader.secret(ofItem: made.id)
  }

  private func makeCollection() throws(VaultError) -> Int64 {
    let made = try vault.collections.create(label: PortalCollection.label, alias: PortalCollection.alias)
    signals.collectionAdded(.vault(made))
    return made
  }
}
