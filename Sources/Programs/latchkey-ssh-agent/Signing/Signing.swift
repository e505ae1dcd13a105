import LatchkeySSHProtocol

/// The fields of a request for a signature.
struct SigningRequest {
  let blob: [UInt8]
  let data: [UInt8]
  let flags: SignatureFlags
}

/// A signature that waits for a person.
final class Signing {
  let key: AgentKey
  let request: SigningRequest
  let subject: SigningSubject
  let connection: AgentConnection
  /// Whether the agent knew the key before the request.
  let isByKnown: Bool
  var isScreenLocked = false
  /// Whether the vault was asked to unlock the key already.
  var wasUnlocked = false
  /// Whether the vault was locked since the request.
  var isOutdated = false
  /// Whether the key was read and has signed.
  var wasMade = false
  /// Whether a security key was asked to sign that needs a touch.
  var wasTouchAsked = false
  /// Takes the question off the screen.
  var cancel: () -> Void = {}

  /// A signer that makes one signature at a time.
  enum Turn: Hashable {
    case key(String)
    case securityKeys
  }

  /// The turn of a security key; nil for a key that need not wait.
  var turn: Turn? {
    if key.item.publicKey.isOfSecurityKey { return .securityKeys }
    return key.require.isEmpty ? nil : .key(key.path)
  }

  init(
    key: AgentKey, _ request: SigningRequest, subject: SigningSubject, connection: AgentConnection, isByKnown: Bool
  ) {
    (self.key, self.request, self.subject, self.connection) = (key, request, subject, connection)
    self.isByKnown = isByKnown
  }
}
