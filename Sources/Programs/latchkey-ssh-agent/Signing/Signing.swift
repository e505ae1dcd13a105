import LatchkeySSHProtocol

/// The fields of a request for a signature.
struct SigningRequest {
  let blob: [UInt8]
  let data: [UInt8]
  let flags: SignatureFlags
}

/// A signature that a client has requested.
final class Signing {
  let key: AgentKey
  let request: SigningRequest
  let subject: SigningSubject
  let connection: AgentConnection
  /// Whether the agent found the key without asking the vault again.
  let isByKnown: Bool
  var isScreenLocked = false
  /// Whether the agent has already asked the vault to unlock the key.
  var wasUnlocked = false
  /// Whether the vault was locked since the request.
  var isOutdated = false
  /// Whether the key has signed.
  var wasMade = false
  /// Whether a security key that needs a touch was asked to sign.
  var wasTouchAsked = false
  /// Removes the question from the screen.
  var cancel: () -> Void = {}

  /// Something that makes only one signature at a time.
  enum Turn: Hashable {
    case key(String)
    case securityKeys
  }

  /// The turn that the signature needs; nil for a key that need not wait.
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
