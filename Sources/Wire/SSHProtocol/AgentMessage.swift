/// The messages of the agent protocol (RFC 9987) by their numbers.
public enum AgentMessage: UInt8, Sendable {
  case failure = 5
  case success = 6
  case requestIdentities = 11
  case identities = 12
  case signRequest = 13
  case signature = 14
  case addIdentity = 17
  case removeIdentity = 18
  case removeAllIdentities = 19
  case lock = 22
  case unlock = 23
  case addConstrained = 25
  case extensionRequest = 27
  case extensionFailure = 28
  case extensionResponse = 29

  /// The longest message, in bytes, without its length.
  public static let sizeLimit = 256 << 10

  /// The extension with which a client asks for the list of extensions.
  public static let query = "query"
  /// The extension that binds a connection to an ssh session.
  public static let sessionBind = "session-bind@openssh.com"
}

/// The flags of a signature.
public struct SignatureFlags: OptionSet, Sendable {
  /// The bits of the protocol.
  public let rawValue: UInt32
  /// Takes the bits of the protocol.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// RSA with SHA-256.
  public static let sha256 = SignatureFlags(rawValue: 2)
  /// RSA with SHA-512.
  public static let sha512 = SignatureFlags(rawValue: 4)
}
