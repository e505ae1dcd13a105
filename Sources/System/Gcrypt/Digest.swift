import CLatchkeyGcrypt

/// The hash functions of other programs' files. Nothing of Latchkey's own depends on MD5: a digest of that kind only says
/// whether a file was decrypted as its writer encrypted it.
public enum Digest: Sendable {
  case sha256
  case md5

  /// Bytes of a digest.
  public var byteCount: Int {
    switch self {
    case .sha256: 32
    case .md5: 16
    }
  }

  private var algorithm: Int32 {
    switch self {
    case .sha256: Int32(GCRY_MD_SHA256.rawValue)
    case .md5: Int32(GCRY_MD_MD5.rawValue)
    }
  }

  /// Hashes `first` and `second` as one message, and then the digest again, so that it was hashed `rounds` times. All
  /// state is in secure memory.
  ///
  /// - Parameters:
  ///   - rounds: at least 1.
  ///   - digest: exactly `byteCount` bytes, filled.
  /// - Throws: `badBufferSize`, `outOfSecureMemory`, `library` where the system forbids the function.
  public func hash(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer = .init(start: nil, count: 0), rounds: Int = 1,
    into digest: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    guard digest.count == byteCount, rounds >= 1 else { throw .badBufferSize }
    try Gcrypt.initialize()
    var opened: gcry_md_hd_t?
    try Gcrypt.check(gcry_md_open(&opened, algorithm, GCRY_MD_FLAG_SECURE.rawValue))
    guard let opened else { throw .outOfSecureMemory }
    defer { gcry_md_close(opened) }
    gcry_md_write(opened, first.baseAddress, first.count)
    gcry_md_write(opened, second.baseAddress, second.count)
    for round in 1...rounds {
      if round > 1 {
        gcry_md_reset(opened)
        gcry_md_write(opened, digest.baseAddress, digest.count)
      }
      guard let result = gcry_md_read(opened, algorithm) else { throw .outOfSecureMemory }
      digest.copyMemory(from: UnsafeRawBufferPointer(start: result, count: byteCount))
    }
  }
}
