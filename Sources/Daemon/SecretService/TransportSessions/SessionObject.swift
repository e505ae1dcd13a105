import LatchkeyGcrypt
import LatchkeyPrompts
import LatchkeySystemd

/// The interface `org.freedesktop.Secret.Session`, and `OpenSession` of the service's object.
final class SessionObject {
  private static let name = "org.freedesktop.Secret.Session"

  private let sessions: TransportSessions
  private let clients: Clients
  private var numbers = FreshNumbers()
  /// The key of the next encrypted session, made while nobody waits.
  private var nextAgreement: KeyAgreement?
  private var preparation: EventSource?

  init(_ sessions: TransportSessions, clients: Clients, loop: EventLoop) throws(SystemdError) {
    self.sessions = sessions
    self.clients = clients
    preparation = try loop.addIdle { [unowned self] in
      if nextAgreement == nil { nextAgreement = try? KeyAgreement() }
      return false
    }
  }

  /// The bus is lost.
  func disconnect() { preparation = nil }

  var interface: ObjectInterface {
    ObjectInterface(Self.name, methods: [.init("Close", handler: close)])
  }

  private func close(_ call: MethodCall) throws(BusError) {
    do throws(BusError) { _ = try sessions.session(call.path, of: call.sender) } catch {
      throw .accessDenied("that session is not yours")
    }
    sessions.remove(call.path)
    call.reply()
  }

  /// `OpenSession` of the service's object.
  func open(_ call: MethodCall) throws(BusError) {
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
        try input.withBytes { (bytes: RawSpan) throws(BusError) in
          do throws(GcryptError) { return try KeyAgreement.respond(to: bytes, with: takeAgreement()) } catch {
            throw error == .outOfSecureMemory
              ? .limitsExceeded("there are too many sessions") : .invalidArguments("invalid public key")
          }
        }
      }
      (cipher, publicKey) = (agreed.cipher, agreed.publicKey)
    default:
      // Clients fall back to `plain` only after an error of this name.
      throw .notSupported("supported algorithms: \(TransportSession.plain) and \(TransportSession.encrypted)")
    }
    let isPlain = cipher == nil
    let path = ObjectPath.numbered(numbers.take(), below: ObjectPath.sessions)
    // Some clients open a session for each secret and never close a session, so they have forgotten the oldest.
    sessions.insert(TransportSession(path: path, owner: call.sender, cipher: cipher))
    clients.watch(call.sender)
    call.reply { out in
      if isPlain {
        out.appendVariant("s") { $0.appendString("") }
      } else {
        out.appendVariant("ay") { $0.appendBytes(publicKey) }
      }
      out.appendObjectPath(path)
    }
  }

  /// The key of an encrypted session that begins now, if one is ready. The next key is drawn in an idle turn.
  private func takeAgreement() -> KeyAgreement? {
    defer { preparation?.resume() }
    return nextAgreement.take()
  }
}
