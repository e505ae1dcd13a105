import LatchkeyGcrypt
import LatchkeySodium

/// A private key of ssh in locked memory. Its fields follow one another, as in the agent protocol and in key files.
public struct PrivateKey: ~Copyable {
  /// The key's public part, or its certificate.
  public let publicKey: PublicKey
  /// The fields, beginning with the name of the key's type.
  let fields: SecureBytes
  /// For a key that signs in a device, the device's part of the key. Nil for any other key.
  public let securityKey: SecurityKey?
  /// The places of the secret numbers. Ed25519 has the secret key, RSA has d, the inverse, p and q, and ECDSA has the scalar. A
  /// security key has the handle, from which its device makes the secret.
  private let numbers: [Range<Int>]

  /// Makes a new Ed25519 key.
  public static func generate() throws(SodiumError) -> PrivateKey {
    let secret = try Ed25519.makeSecretKey()
    var out = SSHWriter()
    out.text(PublicKey.Kind.ed25519.name)
    out.string(secret.bytes.octets(Ed25519.secretKeySize - Ed25519.publicKeySize..<Ed25519.secretKeySize))
    out.number(UInt32(Ed25519.secretKeySize))
    var bytes = try SecureBytes(count: out.bytes.count + Ed25519.secretKeySize)
    bytes.write(out.bytes.span.bytes, at: 0)
    bytes.write(secret.bytes, at: out.bytes.count)
    var reader = SSHReader(0..<bytes.count)
    do throws(Failure) { return try PrivateKey(bytes.bytes, &reader) } catch { throw .badArgument }
  }

  /// The reason why bytes are not a key.
  public enum Failure: Error {
    /// The bytes are damaged, or this program cannot sign with this kind of key.
    case malformed
  }

  /// Reads a key. Afterwards the reader is behind the key.
  public init(_ bytes: RawSpan, _ reader: inout SSHReader) throws(Failure) {
    let begin = reader.position
    let found: (publicKey: PublicKey, securityKey: SecurityKey?, numbers: [Range<Int>])
    do throws(SSHReader.Malformed) { found = try Self.read(bytes, &reader) } catch { throw .malformed }
    guard let fields = try? SecureBytes(copying: bytes.extracting(begin..<reader.position)) else { throw .malformed }
    self.fields = fields
    publicKey = found.publicKey
    securityKey = found.securityKey
    numbers = found.numbers.map { $0.lowerBound - begin..<$0.upperBound - begin }
  }

  private static func read(
    _ bytes: RawSpan, _ reader: inout SSHReader
  ) throws(SSHReader.Malformed) -> (PublicKey, SecurityKey?, [Range<Int>]) {
    let type = try reader.text(bytes)
    let (kind, isCertificate) = try PublicKey.kind(ofType: type)
    var certificate: PublicKey?
    if isCertificate { certificate = try PublicKey(blob: try reader.octets(bytes)) }
    guard certificate == nil || certificate?.type == type else { throw SSHReader.Malformed() }
    var out = SSHWriter()
    out.text(kind.name)
    var numbers: [Range<Int>] = []
    var securityKey: SecurityKey?
    switch kind {
    case .ed25519:
      out.string(try reader.octets(bytes))
      numbers = [try reader.string(bytes)]
    case .rsa:
      if certificate == nil {
        let modulus = try reader.octets(bytes)
        out.string(try reader.octets(bytes))
        out.string(modulus)
      }
      for _ in 0..<4 { numbers.append(try reader.string(bytes)) }
    case .ecdsa:
      if certificate == nil {
        out.string(try reader.octets(bytes))
        out.string(try reader.octets(bytes))
      }
      numbers = [try reader.string(bytes)]
    case .securityKey(let algorithm):
      // After a certificate, OpenSSH leaves out the point of an ECDSA key, but not the point of an Ed25519 key.
      if certificate == nil || algorithm == .ed25519 {
        let point = try algorithm.readPoint(bytes, &reader)
        if algorithm == .ecdsa { out.text(NamedCurve.p256.rawValue) }
        out.string(point)
      }
      let application = try reader.octets(bytes)
      out.string(application)
      securityKey = SecurityKey(flags: try reader.byte(bytes))
      numbers = [try reader.string(bytes)]
      _ = try reader.string(bytes)  // This field is reserved.
      if case .securityKey(_, let known) = certificate?.numbers, known != application { throw SSHReader.Malformed() }
    }
    let isWhole = kind == .ed25519 || kind == .securityKey(.ed25519)
    if isWhole, let certificate, certificate.plainBlob != out.bytes { throw SSHReader.Malformed() }
    guard numbers.allSatisfy({ !$0.isEmpty && $0.count <= PublicKey.moduli.upperBound }) else {
      throw SSHReader.Malformed()
    }
    if let certificate { return (certificate, securityKey, numbers) }
    return (try PublicKey(blob: out.bytes), securityKey, numbers)
  }

  /// Whether the key's public and secret numbers belong together. Only the device of a security key can know this, so such a key
  /// counts as consistent.
  public var isConsistent: Bool {
    if securityKey != nil { return true }
    if case .ed25519(let point) = publicKey.numbers {
      return Ed25519.isPair(point, secretKey: fields.bytes.extracting(numbers[0]))
    }
    do { return try signingKey().isConsistent } catch { return false }
  }

  private func signingKey() throws(GcryptError) -> SigningKey {
    switch (publicKey.numbers, publicKey.kind) {
    case (.rsa(let exponent, let modulus), _):
      let places = SigningKey.RSANumbers(d: numbers[0], p: numbers[2], q: numbers[3], inverse: numbers[1])
      return try SigningKey(modulus: modulus, exponent: exponent, places, in: fields.bytes)
    case (.ecdsa(let point), .ecdsa(let curve)):
      return try SigningKey(curve, point: point, scalar: fields.bytes.extracting(numbers[0]))
    default: throw .badBufferSize
    }
  }

  /// Signs a message.
  ///
  /// - Returns: the signature, which begins with its type. Nil if no memory is left, and for a security key.
  public func sign(_ message: RawSpan, _ flags: SignatureFlags) -> [UInt8]? {
    var out = SSHWriter()
    do {
      switch publicKey.kind {
      case .ed25519:
        out.text(publicKey.kind.name)
        out.string(try Ed25519.sign(message, secretKey: fields.bytes.extracting(numbers[0])))
      case .rsa:
        guard case .rsa(_, let modulus) = publicKey.numbers else { return nil }
        // Without a flag the protocol means SHA-1, which is no longer secure, so this uses SHA-256. `ssh-add -T` of OpenSSH 9.2
        // sends no flag, and accepts SHA-256.
        let hash: SignatureHash = flags.contains(.sha512) && !flags.contains(.sha256) ? .sha512 : .sha256
        let signature = try signingKey().signRSA(message, hash)
        let size = modulus.drop { $0 == 0 }.count
        out.text(hash == .sha256 ? "rsa-sha2-256" : "rsa-sha2-512")
        out.string([UInt8](repeating: 0, count: max(0, size - signature.count)) + signature)
      case .ecdsa(let curve):
        let (r, s) = try signingKey().signECDSA(message, curve.hash)
        var numbers = SSHWriter()
        numbers.integer(r)
        numbers.integer(s)
        out.text(publicKey.kind.name)
        out.string(numbers.bytes)
      case .securityKey: return nil
      }
    } catch { return nil }
    return out.bytes
  }
}
