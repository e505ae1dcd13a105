import LatchkeyGcrypt
import LatchkeySodium

/// A public key of ssh, or a certificate with a public key, in the form of the protocol.
public struct PublicKey: Equatable, Sendable {
  /// The kinds of keys with which this program can sign.
  public enum Kind: Equatable, Sendable {
    case ed25519
    case rsa
    case ecdsa(NamedCurve)
    /// A key whose private part never leaves a device.
    case securityKey(SecurityKey.Algorithm)

    /// The name of the plain key's type.
    public var name: String {
      switch self {
      case .ed25519: "ssh-ed25519"
      case .rsa: "ssh-rsa"
      case .ecdsa(let curve): "ecdsa-sha2-\(curve.rawValue)"
      case .securityKey(let algorithm): algorithm.rawValue
      }
    }

    init?(name: String) {
      switch name {
      case "ssh-ed25519": self = .ed25519
      case "ssh-rsa": self = .rsa
      default:
        if let algorithm = SecurityKey.Algorithm(rawValue: name) {
          self = .securityKey(algorithm)
          return
        }
        guard name.hasPrefix("ecdsa-sha2-"), let curve = NamedCurve(rawValue: String(name.dropFirst(11))) else {
          return nil
        }
        self = .ecdsa(curve)
      }
    }
  }

  /// A certificate's statements about its key.
  public struct Certificate: Equatable, Sendable {
    /// Whether the certificate is for a host.
    public let isHost: Bool
    /// The names for which the certificate is valid.
    let principals: [[UInt8]]
    /// The key that signed the certificate.
    let authority: [UInt8]
    /// The moment at which the certificate becomes valid, in seconds since 1970.
    let begin: UInt64
    /// The moment at which the certificate expires.
    let end: UInt64
    /// Whether the certificate has options that a reader must understand.
    let hasCriticalOptions: Bool
    /// The authority's signature of the bytes before the signature.
    let signature: [UInt8]
    /// The number of signed bytes.
    let signedCount: Int
  }

  /// The numbers of a key, in the form of the blob.
  enum Numbers: Equatable, Sendable {
    case ed25519(point: [UInt8])
    case rsa(exponent: [UInt8], modulus: [UInt8])
    case ecdsa(point: [UInt8])
    case securityKey(point: [UInt8], application: [UInt8])
  }

  /// All bytes of the key.
  public let blob: [UInt8]
  /// The name of the key's type; certificates have their own types.
  public let type: String
  /// The kind of the key. It is the same for a certificate of the key.
  public let kind: Kind
  /// The certificate's statements; nil if this is not a certificate.
  public let certificate: Certificate?
  let numbers: Numbers

  static let certificateSuffix = "-cert-v01@openssh.com"
  /// The allowed sizes of RSA moduli, in bytes: up to 8,192 bits, and a byte for the sign. Longer moduli would cost the agent too
  /// much time.
  static let moduli = 128...1025
  /// The longest RSA exponent, in bytes without leading zeros. A long one makes each verification slow.
  static let exponentLimit = 8

  /// Tells the kind of a key, and whether it is a certificate, from the name of its type.
  static func kind(ofType type: String) throws(SSHReader.Malformed) -> (kind: Kind, isCertificate: Bool) {
    let isCertificate = type.hasSuffix(certificateSuffix)
    var name = isCertificate ? String(type.dropLast(certificateSuffix.count)) : type
    // The name of a security key's type already ends with "@openssh.com". The name of its certificate's type has this ending only
    // once.
    if isCertificate, name.hasPrefix(SecurityKey.typePrefix) { name += SecurityKey.typeSuffix }
    guard let kind = Kind(name: name) else { throw SSHReader.Malformed() }
    return (kind, isCertificate)
  }

  /// Reads a blob.
  public init(blob: [UInt8]) throws(SSHReader.Malformed) {
    let bytes = blob.span.bytes
    var reader = SSHReader(0..<blob.count)
    let type = try reader.text(bytes)
    let (kind, isCertificate) = try Self.kind(ofType: type)
    if isCertificate { _ = try reader.string(bytes) }  // Skips the nonce.
    switch kind {
    case .ed25519:
      let point = try reader.octets(bytes)
      guard point.count == Ed25519.publicKeySize else { throw SSHReader.Malformed() }
      numbers = .ed25519(point: point)
    case .rsa:
      let exponent = try reader.octets(bytes)
      let modulus = try reader.octets(bytes)
      guard (1...Self.exponentLimit).contains(exponent.drop { $0 == 0 }.count), Self.moduli.contains(modulus.count)
      else { throw SSHReader.Malformed() }
      numbers = .rsa(exponent: exponent, modulus: modulus)
    case .ecdsa(let curve):
      guard try reader.text(bytes) == curve.rawValue else { throw SSHReader.Malformed() }
      let point = try reader.octets(bytes)
      guard point.first == 4, point.count < 256 else { throw SSHReader.Malformed() }
      numbers = .ecdsa(point: point)
    case .securityKey(let algorithm):
      let point = try algorithm.readPoint(bytes, &reader)
      numbers = .securityKey(point: point, application: try reader.octets(bytes))
    }
    var certificate: Certificate?
    if isCertificate { certificate = try Self.readCertificate(bytes, &reader) }
    self.certificate = certificate
    guard reader.isAtEnd else { throw SSHReader.Malformed() }
    (self.blob, self.type, self.kind) = (blob, type, kind)
  }

  private static func readCertificate(
    _ bytes: RawSpan, _ reader: inout SSHReader
  ) throws(SSHReader.Malformed) -> Certificate {
    _ = try reader.take(8)  // Skips the serial number.
    let type = try reader.number(bytes)
    guard type == 1 || type == 2 else { throw SSHReader.Malformed() }
    _ = try reader.string(bytes)  // Skips the key's id.
    var names = try reader.fields(bytes)
    var principals: [[UInt8]] = []
    while !names.isAtEnd, principals.count < 256 { principals.append(try names.octets(bytes)) }
    let begin = try moment(bytes, &reader)
    let end = try moment(bytes, &reader)
    let hasCriticalOptions = try !reader.string(bytes).isEmpty
    for _ in 0..<2 { _ = try reader.string(bytes) }  // Skips the extensions and a reserved field.
    let authority = try reader.octets(bytes)
    let signedCount = reader.position
    let signature = try reader.octets(bytes)
    return Certificate(
      isHost: type == 2, principals: principals, authority: authority, begin: begin, end: end,
      hasCriticalOptions: hasCriticalOptions, signature: signature, signedCount: signedCount)
  }

  private static func moment(_ bytes: RawSpan, _ reader: inout SSHReader) throws(SSHReader.Malformed) -> UInt64 {
    let high = UInt64(try reader.number(bytes))
    return high << 32 | UInt64(try reader.number(bytes))
  }

  /// Whether this is a certificate in which an authority says that the key belongs to a host, and which is valid now.
  ///
  /// - Parameter now: the present moment, in seconds since 1970.
  func isCertified(by authority: PublicKey, as host: String, now: UInt64) -> Bool {
    guard let certificate, certificate.isHost, !certificate.hasCriticalOptions, authority.certificate == nil,
      certificate.authority == authority.blob, certificate.principals.contains(Array(host.utf8)),
      certificate.begin <= now, now < certificate.end
    else { return false }
    return authority.isSignature(certificate.signature, of: blob.span.bytes.extracting(0..<certificate.signedCount))
  }

  /// The key alone, without its certificate.
  public var plainBlob: [UInt8] {
    var out = SSHWriter()
    out.text(kind.name)
    switch numbers {
    case .ed25519(let point): out.string(point)
    case .rsa(let exponent, let modulus):
      out.string(exponent)
      out.string(modulus)
    case .ecdsa(let point):
      if case .ecdsa(let curve) = kind { out.text(curve.rawValue) }
      out.string(point)
    case .securityKey(let point, let application):
      if case .securityKey(.ecdsa) = kind { out.text(NamedCurve.p256.rawValue) }
      out.string(point)
      out.string(application)
    }
    return out.bytes
  }

  /// The fingerprint, such as "SHA256:…", by which people recognise a key. A certificate has the fingerprint of its key.
  public var fingerprint: String {
    let digest = SignatureHash.sha256.digest(plainBlob.span.bytes)
    return "SHA256:" + String(Base64.encode(digest).prefix { $0 != "=" })
  }

  /// The key as a line of a file of public keys.
  public func line(comment: String) -> String {
    "\(type) \(Base64.encode(blob))" + (comment.isEmpty ? "" : " \(Self.oneLine(comment))")
  }

  /// A comment, made safe for one line of a file. The comment is a label that any program can choose, and a second line in
  /// `authorized_keys` would be another key.
  public static func oneLine(_ comment: String) -> String {
    let scalars = comment.unicodeScalars.map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .format: " "
      default: scalar
      }
    }
    return String(String.UnicodeScalarView(scalars))
  }

  /// Whether `signature`, which begins with its type, is this key's signature of a message.
  public func isSignature(_ signature: [UInt8], of message: RawSpan) -> Bool {
    let bytes = signature.span.bytes
    var reader = SSHReader(0..<signature.count)
    guard let type = try? reader.text(bytes), let value = try? reader.octets(bytes) else { return false }
    if case .securityKey(let point, let application) = numbers, case .securityKey(let algorithm) = kind {
      guard type == kind.name, let state = try? reader.take(SecurityKey.stateSize), reader.isAtEnd else { return false }
      let signed = SecurityKey.signed(message, application: application, state: bytes.octets(state))
      return switch algorithm {
      case .ed25519: Ed25519.isSignature(value, of: signed.span.bytes, publicKey: point)
      case .ecdsa: Self.isECDSA(value, of: signed.span.bytes, .p256, point: point)
      }
    }
    guard reader.isAtEnd else { return false }
    switch (numbers, kind) {
    case (.ed25519(let point), _):
      return type == kind.name && Ed25519.isSignature(value, of: message, publicKey: point)
    case (.rsa(let exponent, let modulus), _):
      let hash: SignatureHash
      switch type {
      case "rsa-sha2-256": hash = .sha256
      case "rsa-sha2-512": hash = .sha512
      default: return false
      }
      return SignatureVerification.rsa(value, of: message, hash, modulus: modulus, exponent: exponent)
    case (.ecdsa(let point), .ecdsa(let curve)):
      return type == kind.name && Self.isECDSA(value, of: message, curve, point: point)
    default: return false
    }
  }

  private static func isECDSA(_ value: [UInt8], of message: RawSpan, _ curve: NamedCurve, point: [UInt8]) -> Bool {
    var numbers = SSHReader(0..<value.count)
    guard let r = try? numbers.octets(value.span.bytes), let s = try? numbers.octets(value.span.bytes), numbers.isAtEnd,
      !r.isEmpty, !s.isEmpty
    else { return false }
    return SignatureVerification.ecdsa((r, s), of: message, curve, point: point)
  }
}
