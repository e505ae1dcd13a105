import CLatchkeyGcrypt

/// The curves of NIST that ECDSA keys for ssh use.
public enum NamedCurve: String, Sendable {
  case p256 = "nistp256"
  case p384 = "nistp384"
  case p521 = "nistp521"

  /// libgcrypt's name.
  var name: String {
    switch self {
    case .p256: "NIST P-256"
    case .p384: "NIST P-384"
    case .p521: "NIST P-521"
    }
  }

  /// The hash function that belongs to the curve (RFC 5656, 6.2.1).
  public var hash: SignatureHash {
    switch self {
    case .p256: .sha256
    case .p384: .sha384
    case .p521: .sha512
    }
  }
}

/// The hash functions of signatures.
public enum SignatureHash: String, Sendable {
  case sha256, sha384, sha512

  private var algorithm: Int32 {
    switch self {
    case .sha256: Int32(GCRY_MD_SHA256.rawValue)
    case .sha384: Int32(GCRY_MD_SHA384.rawValue)
    case .sha512: Int32(GCRY_MD_SHA512.rawValue)
    }
  }

  /// The digest of a message, which is not secret.
  public func digest(_ message: RawSpan) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(gcry_md_get_algo_dlen(algorithm)))
    message.withUnsafeBytes { gcry_md_hash_buffer(algorithm, &digest, $0.baseAddress, $0.count) }
    return digest
  }
}
