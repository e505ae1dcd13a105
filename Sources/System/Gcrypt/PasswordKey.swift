import CLatchkeyGcrypt

/// PBKDF2 (RFC 8018), by which other programs derive keys from passwords. Latchkey's own keys are derived by Argon2id.
public enum PasswordKey {
  /// Derives a key.
  ///
  /// - Parameters:
  ///   - password: may be empty.
  ///   - salt: at least one byte.
  ///   - rounds: at least 1.
  ///   - digest: the hash function of the HMAC.
  ///   - key: the memory for the key; the caller owns and erases it.
  /// - Throws: `badBufferSize`, `library`.
  public static func derive(
    _ password: RawSpan, salt: RawSpan, rounds: Int, digest: Digest, into key: consuming MutableRawSpan
  ) throws(GcryptError) {
    try key.withUnsafeMutableBytes { key throws(GcryptError) in
      try password.withUnsafeBytes { password throws(GcryptError) in
        try salt.withUnsafeBytes { salt throws(GcryptError) in
          try derive(password, salt: salt, rounds: rounds, digest: digest, into: key)
        }
      }
    }
  }

  private static func derive(
    _ password: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, rounds: Int, digest: Digest,
    into key: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    guard rounds >= 1, !salt.isEmpty, !key.isEmpty else { throw .badBufferSize }
    try Gcrypt.initialize()
    // libgcrypt refuses a null address, even for an empty password.
    let result = withUnsafeBytes(of: UInt8(0)) { nothing in
      gcry_kdf_derive(
        password.baseAddress ?? nothing.baseAddress, password.count, Int32(GCRY_KDF_PBKDF2.rawValue),
        digest.algorithm, salt.baseAddress, salt.count, UInt(rounds), key.count, key.baseAddress)
    }
    try Gcrypt.check(result)
  }
}
