import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.freedesktop.impl.portal.Secret`, by which the portals' frontend gets the one secret of each
/// sandboxed application. The application makes the key of its files from it, so it is the same for ever.
extension SecretService {
  /// The well-known name that the frontend finds in our .portal file.
  public static let portalBusName = "org.freedesktop.impl.portal.desktop.latchkey"

  /// What names the collection of these secrets. It is not to be locked or changed by its alias.
  static let portalAlias = "portal"
  private static let portalLabel = "Flatpak apps"
  private static let applicationAttribute = "app_id"
  private static let portalSchema = "org.freedesktop.portal.Secret"
  private static let portalSecretSize = 64
  /// How long an application waits for the vault to be opened, and we for the application to read.
  private static let portalTimeout = Duration.seconds(60)
  /// How long an application has nobody asked again for whom somebody was asked in vain.
  private static let portalSilence = Duration.seconds(60)
  /// Each request holds open descriptors, so a sandboxed application must not be able to cause any number of them.
  private static let portalRequestLimit = (each: 8, all: 128)

  var portalInterface: ObjectInterface {
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
          getter: { (_, out: inout MessageWriter) throws(BusError) in try out.appendUInt32(1) })
      ])
  }

  var portalRequestInterface: ObjectInterface {
    ObjectInterface("org.freedesktop.impl.portal.Request", methods: [.init("Close", handler: closePortalRequest)])
  }

  /// The collection of these secrets; nil before the first one, and while aliases cannot be read.
  var portalCollection: Int64? { Self.portalCollection(of: vault) }

  /// The same of any vault.
  public static func portalCollection(of vault: Vault) -> Int64? { try? vault.alias(portalAlias) }

  /// Why the portal's collection gets no passphrase.
  public static let portalTakesNoPassphrase =
    "sandboxed applications keep their secrets in it, and would hang until you give the passphrase: it opens with your login"

  // MARK: - requests

  private func retrieveSecret(_ call: MethodCall) throws(BusError) {
    let key = PortalRequest.Key(owner: call.sender, handle: try call.message.readObjectPath())
    let application = try call.message.readString()
    // First of all: what is not taken must not be closed before this looked at it.
    let outlet: Outlet
    let passed = try call.message.readUnixFD()
    do throws(PosixError) { outlet = try Outlet(FileDescriptor(owning: passed)) } catch {
      throw .invalidArguments("a secret is written to a pipe of the user's, or to a socket of this machine")
    }
    guard PortalRequest.isHandle(key.handle) else {
      throw .invalidArguments("the handle is the path of another object of this service")
    }
    guard portalRequests[key] == nil else { throw .alreadyExists("that handle is in use") }
    guard PortalRequest.isApplicationID(application) else { throw .invalidArguments("that is no application id") }
    guard portalRequests.count < Self.portalRequestLimit.all,
      portalRequests.values.count(where: { $0.application == application }) < Self.portalRequestLimit.each
    else { throw .limitsExceeded("there are too many requests") }
    let request = PortalRequest(key, application: application, call: call, outlet: outlet)
    portalRequests[key] = request
    watch(call.sender)
    serve(request)
  }

  private func closePortalRequest(_ call: MethodCall) throws(BusError) {
    let key = PortalRequest.Key(owner: call.sender, handle: call.path)
    guard portalRequests[key] != nil else { throw .accessDenied("that request is not yours") }
    call.reply()
    end(key, .cancelled)
  }

  private func end(_ key: PortalRequest.Key, _ response: PortalRequest.Response) {
    guard let request = portalRequests.removeValue(forKey: key) else { return }
    request.end(response)
    drop(request)
  }

  /// Nobody need be asked for it any more.
  func drop(_ request: PortalRequest) {
    if let ticket = request.ticket { promptQueue.cancel(ticket) }
    request.ticket = nil
  }

  /// Serves the applications that wait, after keys came or went.
  func servePortal() {
    // A client that locks a collection must not have the person asked again and again.
    let keys = (session: vault.hasKey(.afterFirstUnlock), unlocked: vault.isUnlocked)
    if keys != portalKeys { portalRefusals = [:] }
    portalKeys = keys
    for request in portalRequests.values { serve(request) }
  }

  private func serve(_ request: PortalRequest) {
    // An index that is damaged could hide the secret that there is.
    whenVerified { [weak self, weak request] in
      guard let self, let request, request.isWaiting else { return }
      do throws(VaultError) {
        let secret = try portalSecret(of: request.application)
        limit(request)
        request.deliver(secret, on: loop) { [weak self, key = request.key] in self?.end(key, $0) }
      } catch {
        if isForWantOfKeys(error) {
          return portalWaits(request, canBeAsked: error != .notCreated || vault.awaitsPassword)
        }
        Journal.log(.warning, "an application did not get its secret from the portal: \(error.explanation)")
        end(request.key, .other)
      }
    }
  }

  /// The one place where an application begins, or goes on, to wait for keys. ``stateChanged()`` serves it when they
  /// come; its time limit ends it when they do not, and so does a person who does not want to give the password.
  private func portalWaits(_ request: PortalRequest, canBeAsked: Bool) {
    limit(request)
    guard canBeAsked, !request.wasAsked, portalRequests[request.key] === request else { return }
    // Or an application could have one window after the other shown, until the person gives in.
    if let refusal = portalRefusals[request.application], .now - refusal < Self.portalSilence {
      return end(request.key, .cancelled)
    }
    request.wasAsked = true
    request.ticket = promptQueue.ask(
      .login, lifting: [], for: Caller(application: request.application)
    ) { [weak self, weak request] in
      guard let self, let request else { return }
      request.ticket = nil
      // Keys may have come without anybody noticing yet.
      if vault.hasKey(.afterFirstUnlock) { return serve(request) }
      notePortalRefusal(request.application)
      end(request.key, .cancelled)
    }
  }

  private func notePortalRefusal(_ application: String) {
    let now = ContinuousClock.now
    portalRefusals = portalRefusals.filter { now - $0.value < Self.portalSilence }
    portalRefusals[application] = now
  }

  /// Gives the request its time limit, where it has none yet.
  private func limit(_ request: PortalRequest) {
    let key = request.key
    do throws(SystemdError) {
      try request.limit(to: Self.portalTimeout, on: loop) { [weak self] in self?.end(key, .other) }
    } catch { end(key, .other) }
  }

  /// Whether a login or unlock can fix it.
  private func isForWantOfKeys(_ error: VaultError) -> Bool {
    switch error {
    case .isLocked, .notCreated: true
    // Without its device's index key the vault cannot even be searched, until tier key C brings it.
    case .unavailable: !vault.hasKey(.afterFirstUnlock)
    default: false
    }
  }

  // MARK: - secrets

  /// The application's secret, which is made where there is none. One that cannot be read now is never replaced.
  ///
  /// Other providers keep theirs in any collection, and that is where an import brings them: the portal's own goes first,
  /// else the oldest.
  private func portalSecret(of application: String) throws(VaultError) -> OpenedSecret {
    let collection = try vault.alias(Self.portalAlias)
    let found = try vault.reader.search(.attributes([Self.applicationAttribute: application]))
    if let item = found.first(where: { $0.collection == collection }) ?? found.first {
      return try vault.reader.secret(ofItem: item.id)
    }
    let home = if let collection { collection } else { try makePortalCollection() }
    let secret: SecureBytes
    do throws(SodiumError) { secret = try SecureBytes.random(count: Self.portalSecretSize) } catch {
      throw .outOfMemory
    }
    let made = try vault.writer.createItem(
      in: home,
      ItemMetadata(
        label: application.isEmpty ? "Programs outside a sandbox" : application,
        attributes: [Self.applicationAttribute: application, "xdg:schema": Self.portalSchema],
        contentType: "application/octet-stream"),
      secret: secret, accessibility: .afterFirstUnlock, replacing: false)
    contentsChanged(ItemPlace(collection: .vault(home), id: made.id), "ItemCreated")
    // What is given out is what the vault will give out for ever.
    return try vault.reader.secret(ofItem: made.id)
  }

  private func makePortalCollection() throws(VaultError) -> Int64 {
    let made = try vault.createCollection(label: Self.portalLabel, alias: Self.portalAlias)
    collectionAdded(.vault(made))
    return made
  }
}
