import CLatchkeyGcrypt

/// A new pair of keys for signatures, in secure memory, erased at the end of its life.
public struct GeneratedKey: ~Copyable {
  private let pair: Expression

  /// A new RSA key.
  ///
  /// - Throws: `outOfSecureMemory`, `library`.
  public init(rsaBits bits: Int) throws(GcryptError) {
    pair = try Expression { latchkey_gcry_generate_rsa(&$0, Int32(clamping: bits)) }
  }

  /// A new ECDSA key.
  ///
  /// - Throws: `outOfSecureMemory`, `library`.
  public init(_ curve: NamedCurve) throws(GcryptError) {
    pair = try Expression { latchkey_gcry_generate_ecdsa(&$0, curve.name) }
  }

  /// Lends a number of the private key, by libgcrypt's name: big-endian, with a zero in front if it would seem negative.
  ///
  /// - Throws: `badBufferSize` if the key has no such number.
  public func withNumber<Result>(
    _ name: String, _ body: (RawSpan) throws(GcryptError) -> Result
  ) throws(GcryptError) -> Result {
    guard let secret = gcry_sexp_find_token(pair.pointer, "private-key", 0) else { throw .badBufferSize }
    defer { gcry_sexp_release(secret) }
    guard let found = gcry_sexp_find_token(secret, name, 0) else { throw .badBufferSize }
    defer { gcry_sexp_release(found) }
    var count = 0
    guard let bytes = gcry_sexp_nth_data(found, 1, &count) else { throw .badBufferSize }
    return try body(UnsafeRawBufferPointer(start: bytes, count: count).bytes)
  }
}
