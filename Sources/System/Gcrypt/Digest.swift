import CLatchkeyGcrypt

/// The hash functions that files of other programs use. Nothing of Latchkey's own depends on MD5 or SHA-1. They only show whether a
/// file was decrypted with the right key, and derive KDE 4's keys from passwords.
public enum Digest: Sendable {
  case sha512
  case sha256
  case sha1
  case md5

  /// Bytes of a digest.
  public var byteCount: Int {
    switch self {
    case .sha512: 64
    case .sha256: 32
    case .sha1: 20
    case .md5: 16
    }
  }

  var algorithm: Int32 {
    switch self {
    case .sha512: Int32(GCRY_MD_SHA512.rawValue)
    case .sha256: Int32(GCRY_MD_SHA256.rawValue)
    case .sha1: Int32(GCRY_MD_SHA1.rawValue)
    case .md5: Int32(GCRY_MD_MD5.rawValue)
    }
  }

  /// Hashes `first` and `second` as one message, and then repeatedly the digest, with `rounds` hashes in all. All state is in
  /// secure memory.
  ///
  /// - Parameters:
  ///   - rounds: at least 1.
  ///   - digest: exactly `byteCount` bytes, filled.
  /// - Throws: `badBufferSize`, `outOfSecureMemory`, `library` if the system forbids the function.
  public func hash(
    _ first: RawSpan, _ second: RawSpan = RawSpan(), rounds: Int = 1, into digest: consuming MutableRawSpan
  ) throws(GcryptError) {
    try digest.withUnsafeMutableBytes { digest throws(GcryptError) in
      try first.withUnsafeBytes { first throws(GcryptError) in
        try second.withUnsafeBytes { second throws(GcryptError) in
          try hash(first, second, rounds: rounds, into: digest)
        }
      }
    }
  }

  private func hash(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, rounds: Int,
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

  /// Computes the HMAC of `bytes`. All state is in secure memory.
  ///
  /// - Parameter code: exactly `byteCount` bytes, filled.
  /// - Throws: `badBufferSize`, `outOfSecureMemory`, `library`.
  public func authenticate(
    _ bytes: RawSpan, key: RawSpan, into code: consuming MutableRawSpan
  ) throws(GcryptError) {
    try code.withUnsafeMutableBytes { code throws(GcryptError) in
      try bytes.withUnsafeBytes { bytes throws(GcryptError) in
        try key.withUnsafeBytes { key throws(GcryptError) in try authenticate(bytes, key: key, into: code) }
      }
    }
  }

  /// Computes the HMAC of bytes that are not secret.
  public func authenticate(_ bytes: [UInt8], key: [UInt8]) throws(GcryptError) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: byteCount)
    var memory = code.mutableSpan
    try authenticate(bytes.span.bytes, key: key.span.bytes, into: memory.mutableBytes)
    return code
  }

  private func authenticate(
    _ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    guard code.count == byteCount else { throw .badBufferSize }
    try Gcrypt.initialize()
    var opened: gcry_md_hd_t?
    try Gcrypt.check(gcry_md_open(&opened, algorithm, GCRY_MD_FLAG_SECURE.rawValue | GCRY_MD_FLAG_HMAC.rawValue))
    guard let opened else { throw .outOfSecureMemory }
    defer { gcry_md_close(opened) }
    try Gcrypt.check(gcry_md_setkey(opened, key.baseAddress, key.count))
    gcry_md_write(opened, bytes.baseAddress, bytes.count)
    guard let result = gcry_md_read(opened, algorithm) else { throw .outOfSecureMemory }
    code.copyMemory(from: UnsafeRawBufferPointer(start: result, count: byteCount))
  }
}
