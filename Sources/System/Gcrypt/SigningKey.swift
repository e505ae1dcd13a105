import CLatchkeyGcrypt

/// A private key for signatures, in secure memory, erased at the end of its life.
public struct SigningKey: ~Copyable {
  private let key: Expression

  /// The places of the secret numbers of an RSA key in lent bytes.
  public struct RSANumbers {
    let d: Range<Int>
    let p: Range<Int>
    let q: Range<Int>
    let inverse: Range<Int>

    /// - Parameters:
    ///   - d: the private exponent.
    ///   - p: one prime.
    ///   - q: the other prime.
    ///   - inverse: the inverse of `q` modulo `p`, which key files contain.
    public init(d: Range<Int>, p: Range<Int>, q: Range<Int>, inverse: Range<Int>) {
      (self.d, self.p, self.q, self.inverse) = (d, p, q, inverse)
    }
  }

  /// An RSA key. Numbers are unsigned and big-endian, and the secret ones are in `secrets`.
  ///
  /// - Throws: `badBufferSize` for an empty number, or a prime that is shorter than a quarter of the modulus;
  ///   `outOfSecureMemory`, `library`.
  public init(
    modulus: [UInt8], exponent: [UInt8], _ numbers: RSANumbers, in secrets: RawSpan
  ) throws(GcryptError) {
    guard !modulus.isEmpty, !exponent.isEmpty,
      [numbers.d, numbers.p, numbers.q, numbers.inverse].allSatisfy({ !$0.isEmpty })
    else { throw .badBufferSize }
    // No program makes a key whose primes differ so much in length, and libgcrypt does not expect such a key.
    let bits = Self.bits(modulus.span.bytes)
    guard Self.bits(secrets.extracting(numbers.p)) * 4 >= bits, Self.bits(secrets.extracting(numbers.q)) * 4 >= bits
    else { throw .badBufferSize }
    let d = try SecureMemory(copying: secrets.extracting(numbers.d))
    // libgcrypt wants the inverse of the first prime modulo the second prime.
    let p = try SecureMemory(copying: secrets.extracting(numbers.q))
    let q = try SecureMemory(copying: secrets.extracting(numbers.p))
    let u = try SecureMemory(copying: secrets.extracting(numbers.inverse))
    key = try d.withBytes { (d) throws(GcryptError) in
      try p.withBytes { (p) throws(GcryptError) in
        try q.withBytes { (q) throws(GcryptError) in
          try u.withBytes { (u) throws(GcryptError) in
            try Expression { out in
              modulus.withUnsafeBytes { n in
                exponent.withUnsafeBytes { e in
                  latchkey_gcry_rsa_private(&out, n.number, e.number, d.number, p.number, q.number, u.number)
                }
              }
            }
          }
        }
      }
    }
  }

  /// The number of bits in a number.
  private static func bits(_ number: RawSpan) -> Int {
    number.withUnsafeBytes { number in
      let digits = number.drop { $0 == 0 }
      return digits.first.map { digits.count * 8 - $0.leadingZeroBitCount } ?? 0
    }
  }

  /// An ECDSA key.
  ///
  /// - Parameters:
  ///   - point: the public point, uncompressed.
  ///   - scalar: the secret number, unsigned and big-endian.
  /// - Throws: `badBufferSize` for an empty number; `outOfSecureMemory`, `library`.
  public init(_ curve: NamedCurve, point: [UInt8], scalar: RawSpan) throws(GcryptError) {
    guard !point.isEmpty, !scalar.isEmpty else { throw .badBufferSize }
    let d = try SecureMemory(copying: scalar)
    key = try d.withBytes { (d) throws(GcryptError) in
      try Expression { out in
        point.withUnsafeBytes { latchkey_gcry_ecdsa_private(&out, curve.name, $0.number, d.number) }
      }
    }
  }

  /// Whether the key's numbers belong together, according to libgcrypt.
  public var isConsistent: Bool { gcry_pk_testkey(key.pointer) == 0 }

  /// The RSA signature (PKCS #1 version 1.5) of a message, without leading zeros.
  public func signRSA(_ message: RawSpan, _ hash: SignatureHash) throws(GcryptError) -> [UInt8] {
    let digest = hash.digest(message)
    let data = try Expression { out in
      digest.withUnsafeBytes { latchkey_gcry_rsa_digest(&out, hash.rawValue, $0.number) }
    }
    return try Expression { gcry_pk_sign(&$0, data.pointer, key.pointer) }.number("s")
  }

  /// The ECDSA signature of a message: two numbers without leading zeros.
  public func signECDSA(
    _ message: RawSpan, _ hash: SignatureHash
  ) throws(GcryptError) -> (r: [UInt8], s: [UInt8]) {
    let digest = hash.digest(message)
    let data = try Expression { out in
      digest.withUnsafeBytes { latchkey_gcry_ecdsa_digest(&out, hash.rawValue, $0.number) }
    }
    let signature = try Expression { gcry_pk_sign(&$0, data.pointer, key.pointer) }
    return (try signature.number("r"), try signature.number("s"))
  }
}

/// Verifies signatures of others.
public enum SignatureVerification {
  /// Whether `signature` is the RSA signature (PKCS #1 version 1.5) of a message.
  public static func rsa(
    _ signature: [UInt8], of message: RawSpan, _ hash: SignatureHash, modulus: [UInt8], exponent: [UInt8]
  ) -> Bool {
    let digest = hash.digest(message)
    return isValid { (out) in
      modulus.withUnsafeBytes { n in exponent.withUnsafeBytes { latchkey_gcry_rsa_public(&out, n.number, $0.number) } }
    } digest: { out in
      digest.withUnsafeBytes { latchkey_gcry_rsa_digest(&out, hash.rawValue, $0.number) }
    } signature: { out in
      signature.withUnsafeBytes { latchkey_gcry_rsa_signature(&out, $0.number) }
    }
  }

  /// Whether `signature` is the ECDSA signature of a message.
  public static func ecdsa(
    _ signature: (r: [UInt8], s: [UInt8]), of message: RawSpan, _ curve: NamedCurve, point: [UInt8]
  ) -> Bool {
    let digest = curve.hash.digest(message)
    return isValid { out in
      point.withUnsafeBytes { latchkey_gcry_ecdsa_public(&out, curve.name, $0.number) }
    } digest: { out in
      digest.withUnsafeBytes { latchkey_gcry_ecdsa_digest(&out, curve.hash.rawValue, $0.number) }
    } signature: { out in
      signature.r.withUnsafeBytes { r in
        signature.s.withUnsafeBytes { latchkey_gcry_ecdsa_signature(&out, r.number, $0.number) }
      }
    }
  }

  private static func isValid(
    key: (inout gcry_sexp_t?) -> gcry_error_t, digest: (inout gcry_sexp_t?) -> gcry_error_t,
    signature: (inout gcry_sexp_t?) -> gcry_error_t
  ) -> Bool {
    do throws(GcryptError) {
      let key = try Expression(key)
      let digest = try Expression(digest)
      let signature = try Expression(signature)
      return gcry_pk_verify(signature.pointer, digest.pointer, key.pointer) == 0
    } catch { return false }
  }
}
