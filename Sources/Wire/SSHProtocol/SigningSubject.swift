import LatchkeySodium

/// The purpose of a signature, as far as the signed bytes tell it.
public enum SigningSubject: Equatable, Sendable {
  /// A login by a public key (RFC 4252, section 7).
  public struct Login: Equatable, Sendable {
    /// The identifier of the ssh session.
    let session: [UInt8]
    /// The user who logs in.
    public let user: String
    /// The host's key, if the client names it.
    let hostKey: [UInt8]?

    /// The fingerprint of the key that the login names; nil if it names none.
    public var hostFingerprint: String? { hostKey.flatMap { try? PublicKey(blob: $0) }?.fingerprint }
  }

  case login(Login)
  /// A signature by `ssh-keygen -Y`, for a namespace such as "git" or "file".
  case file(namespace: String)
  /// Anything else.
  case unknown

  /// Reads the bytes that `key` must sign.
  public init(_ bytes: RawSpan, by key: PublicKey) {
    if let login = try? Self.login(bytes, key) {
      self = .login(login)
    } else if let namespace = try? Self.namespace(bytes) {
      self = .file(namespace: namespace)
    } else {
      self = .unknown
    }
  }

  private static func login(_ bytes: RawSpan, _ key: PublicKey) throws(SSHReader.Malformed) -> Login {
    var reader = SSHReader(0..<bytes.byteCount)
    let session = try reader.octets(bytes)
    guard try reader.byte(bytes) == 50 else { throw SSHReader.Malformed() }
    let user = try reader.text(bytes)
    guard try reader.text(bytes) == "ssh-connection" else { throw SSHReader.Malformed() }
    let method = try reader.text(bytes)
    guard method == "publickey" || method == "publickey-hostbound-v00@openssh.com", try reader.byte(bytes) == 1 else {
      throw SSHReader.Malformed()
    }
    _ = try reader.string(bytes)  // Skips the algorithm.
    guard try reader.octets(bytes) == key.blob else { throw SSHReader.Malformed() }
    let hostKey = method == "publickey" ? nil : try reader.octets(bytes)
    guard reader.isAtEnd, !session.isEmpty else { throw SSHReader.Malformed() }
    return Login(session: session, user: user, hostKey: hostKey)
  }

  private static func namespace(_ bytes: RawSpan) throws(SSHReader.Malformed) -> String {
    var reader = SSHReader(0..<bytes.byteCount)
    guard bytes.octets(try reader.take(6)) == Array("SSHSIG".utf8) else { throw SSHReader.Malformed() }
    let namespace = try reader.text(bytes)
    for _ in 0..<3 { _ = try reader.string(bytes) }  // Skips a reserved field, the hash function and the hash.
    guard reader.isAtEnd, !namespace.isEmpty else { throw SSHReader.Malformed() }
    return namespace
  }
}
