import CLatchkeyGcrypt

/// The 16-byte key of one session, in secure memory, erased at the end of its life.
struct SessionKey: ~Copyable {
  static let byteCount = 16

  let memory: SecureMemory

  /// HKDF-SHA256 (RFC 5869) without salt and info, 16 bytes out.
  ///
  /// libgcrypt has HKDF as an algorithm of `gcry_kdf_open` only from 1.11 on; Debian 12 ships 1.10. So this type builds HKDF from
  /// libgcrypt's HMAC, according to the RFC. For 16 bytes that takes two calls: extract, and the first block of expand.
  ///
  /// - Parameter sharedSecret: the shared secret, as long as the group's prime, with zeros on the left.
  init(deriving sharedSecret: borrowing SecureMemory) throws(GcryptError) {
    // Extract: PRK = HMAC(salt, IKM); no salt means 32 zero bytes (RFC 5869 section 2.2).
    let salt = try SecureMemory(count: MAC.byteCount)
    let extract = try MAC(key: salt)
    try sharedSecret.withBytes { (secret) throws(GcryptError) in extract.update(secret) }
    let pseudorandomKey = try extract.finish(byteCount: MAC.byteCount)
    // Expand: T(1) = HMAC(PRK, T(0) | info | 1), with T(0) and info empty.
    let expand = try MAC(key: pseudorandomKey)
    withUnsafeBytes(of: UInt8(1)) { expand.update($0) }
    memory = try expand.finish(byteCount: Self.byteCount)
  }

  /// A key that is known already.
  ///
  /// - Throws: `badBufferSize` unless `bytes` are 16.
  init(copying bytes: RawSpan) throws(GcryptError) {
    guard bytes.byteCount == Self.byteCount else { throw .badBufferSize }
    memory = try SecureMemory(copying: bytes)
  }
}

/// One HMAC-SHA256 computation; all its state is in secure memory.
private struct MAC: ~Copyable {
  static let byteCount = 32

  private let handle: gcry_md_hd_t

  init(key: borrowing SecureMemory) throws(GcryptError) {
    var opened: gcry_md_hd_t?
    let flags = GCRY_MD_FLAG_SECURE.rawValue | GCRY_MD_FLAG_HMAC.rawValue
    try Gcrypt.check(gcry_md_open(&opened, Int32(GCRY_MD_SHA256.rawValue), flags))
    guard let opened else { throw .outOfSecureMemory }
    do throws(GcryptError) {
      try key.withBytes { (key) throws(GcryptError) in
        try Gcrypt.check(gcry_md_setkey(opened, key.baseAddress, key.count))
      }
    } catch {
      gcry_md_close(opened)
      throw error
    }
    handle = opened
  }

  deinit { gcry_md_close(handle) }

  func update(_ bytes: UnsafeRawBufferPointer) { gcry_md_write(handle, bytes.baseAddress, bytes.count) }

  /// The first `byteCount` bytes of the code, at most 32.
  func finish(byteCount: Int) throws(GcryptError) -> SecureMemory {
    guard let code = gcry_md_read(handle, Int32(GCRY_MD_SHA256.rawValue)) else { throw .outOfSecureMemory }
    return try SecureMemory(copying: UnsafeRawBufferPointer(start: code, count: byteCount).bytes)
  }
}
