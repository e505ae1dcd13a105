import CLatchkeyGcrypt

/// The cipher of one Secret Service session: AES-128-CBC with PKCS#7 padding under the session's key.
///
/// (Secret Service specification, "Transfer of Secrets".) The key is in secure memory and erased when the last
/// reference goes. Not for use from two threads at once.
public final class SessionCipher {
  /// Bytes of an AES block, and of an IV.
  public static let blockSize = 16

  private let key: SessionKey

  init(key: consuming SessionKey) { self.key = key }

  /// A cipher with a known key of 16 bytes: the files of libsecret and oo7 have the same form as a session's secrets.
  ///
  /// - Throws: `badBufferSize`, `outOfSecureMemory`.
  public convenience init(copying key: RawSpan) throws(GcryptError) {
    self.init(key: try SessionKey(copying: key))
  }

  /// Bytes of the ciphertext for `plaintext` bytes: the next larger multiple of 16, as there is always padding.
  public static func ciphertextLength(plaintext: Int) -> Int { (plaintext / blockSize + 1) * blockSize }

  /// Encrypts `plaintext` under a fresh random IV.
  ///
  /// - Parameters:
  ///   - plaintext: a text of any length, also empty. It is not erased here, and must not overlap `ciphertext`.
  ///   - iv: 16 bytes, filled with the IV.
  ///   - ciphertext: exactly `ciphertextLength(plaintext:)` bytes, filled.
  /// - Throws: `badBufferSize`, `outOfSecureMemory`, `library`. After an error the buffers hold nothing of use.
  public func encrypt(_ plaintext: RawSpan) throws(GcryptError) -> (iv: [UInt8], ciphertext: [UInt8]) {
    var iv = [UInt8](repeating: 0, count: Self.blockSize)
    // CBC needs an IV that nobody can predict, so a counter is not enough.
    gcry_randomize(&iv, iv.count, GCRY_STRONG_RANDOM)
    return (iv, try encrypt(plaintext, underIV: iv))
  }

  /// Encrypts with a given IV. Only a test with a known answer may give one.
  func encrypt(_ plaintext: RawSpan, underIV iv: [UInt8]) throws(GcryptError) -> [UInt8] {
    var ciphertext = [UInt8](repeating: 0, count: Self.ciphertextLength(plaintext: plaintext.byteCount))
    var room = ciphertext.mutableSpan
    var out = room.mutableBytes
    try out.withUnsafeMutableBytes { out throws(GcryptError) in
      try plaintext.withUnsafeBytes { plaintext throws(GcryptError) in
        try iv.span.bytes.withUnsafeBytes { iv throws(GcryptError) in
          try encrypt(plaintext, underIV: iv, into: out)
        }
      }
    }
    return ciphertext
  }

  private func encrypt(
    _ plaintext: UnsafeRawBufferPointer, underIV iv: UnsafeRawBufferPointer,
    into ciphertext: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    let cipher = try BlockChain(key: key, iv: iv)
    // Whole blocks go directly from the caller's memory to the caller's memory, so there is no copy of the secret. The rest goes
    // through one block of secure memory.
    let whole = ciphertext.count - Self.blockSize
    let rest = plaintext.count - whole
    if whole > 0 {
      try cipher.encrypt(
        UnsafeRawBufferPointer(rebasing: plaintext[..<whole]),
        into: UnsafeMutableRawBufferPointer(rebasing: ciphertext[..<whole]))
    }
    try SecureMemory(count: Self.blockSize).withMutableBytes { (last) throws(GcryptError) in
      last.copyMemory(from: UnsafeRawBufferPointer(rebasing: plaintext[whole...]))
      for index in rest..<Self.blockSize { last[index] = UInt8(Self.blockSize - rest) }
      try cipher.encrypt(
        UnsafeRawBufferPointer(last), into: UnsafeMutableRawBufferPointer(rebasing: ciphertext[whole...]))
    }
  }

  /// Decrypts `ciphertext` and removes its padding.
  ///
  /// - Parameters:
  ///   - ciphertext: a multiple of 16 bytes, at least 16.
  ///   - iv: 16 bytes.
  ///   - plaintext: memory for a secret, which the caller owns and erases. It has at least as many bytes as `ciphertext`, and does
  ///     not overlap it. Afterwards the bytes between the plaintext's end and the ciphertext's length are zero. After an error, all
  ///     bytes up to that length are zero.
  /// - Returns: bytes of plaintext, 0 up to `ciphertext.count - 1`.
  /// - Throws: `undecryptable` for any fault of ciphertext, IV or padding; `badBufferSize` if `plaintext` is too small;
  ///   `outOfSecureMemory`.
  public func decrypt(
    _ ciphertext: RawSpan, iv: RawSpan, into plaintext: consuming MutableRawSpan
  ) throws(GcryptError) -> Int {
    try plaintext.withUnsafeMutableBytes { plaintext throws(GcryptError) in
      try ciphertext.withUnsafeBytes { ciphertext throws(GcryptError) in
        try iv.withUnsafeBytes { iv throws(GcryptError) in try decrypt(ciphertext, iv: iv, into: plaintext) }
      }
    }
  }

  private func decrypt(
    _ ciphertext: UnsafeRawBufferPointer, iv: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) -> Int {
    guard !ciphertext.isEmpty, ciphertext.count.isMultiple(of: Self.blockSize), iv.count == Self.blockSize
    else { throw .undecryptable }
    guard plaintext.count >= ciphertext.count else { throw .badBufferSize }
    let output = UnsafeMutableRawBufferPointer(rebasing: plaintext[..<ciphertext.count])
    let cipher = try BlockChain(key: key, iv: iv)
    do {
      try cipher.decrypt(ciphertext, into: output)
    } catch {
      Self.erase(output)
      throw .undecryptable
    }
    guard let padding = Self.paddingLength(UnsafeRawBufferPointer(output)) else {
      Self.erase(output)
      throw .undecryptable
    }
    let length = output.count - padding
    Self.erase(UnsafeMutableRawBufferPointer(rebasing: output[length...]))
    return length
  }

  /// Strict PKCS#7: the last byte n is 1 … 16 and the last n bytes all are n. This always looks at all 16 bytes, and branches
  /// only on the verdict, which the peer learns anyway.
  private static func paddingLength(_ output: UnsafeRawBufferPointer) -> Int? {
    let last = output[output.count - 1]
    // Zero for 1 … 16 only.
    var wrong = (last &- 1) & 0xF0
    for index in 0..<UInt8(blockSize) {
      // All bits are 1 if the byte belongs to the padding (index < last), or else 0.
      let within = UInt8(truncatingIfNeeded: (Int16(index) - Int16(last)) >> 15)
      wrong |= within & (output[output.count - 1 - Int(index)] ^ last)
    }
    return wrong == 0 ? Int(last) : nil
  }

  private static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
    if let start = bytes.baseAddress { latchkey_gcry_erase(start, bytes.count) }
  }
}

/// One run of AES-128-CBC. Its key schedule is in secure memory, and is erased at the run's end. A session keeps only its key, so
/// that a thousand idle sessions need 64 KiB.
struct BlockChain: ~Copyable {
  private let handle: gcry_cipher_hd_t

  init(key: borrowing SessionKey, iv: UnsafeRawBufferPointer) throws(GcryptError) {
    var opened: gcry_cipher_hd_t?
    try Gcrypt.check(
      gcry_cipher_open(
        &opened, Int32(GCRY_CIPHER_AES.rawValue), Int32(GCRY_CIPHER_MODE_CBC.rawValue),
        GCRY_CIPHER_SECURE.rawValue))
    guard let opened else { throw .outOfSecureMemory }
    do throws(GcryptError) {
      try key.memory.withBytes { (key) throws(GcryptError) in
        try Gcrypt.check(gcry_cipher_setkey(opened, key.baseAddress, key.count))
      }
      try Gcrypt.check(gcry_cipher_setiv(opened, iv.baseAddress, iv.count))
    } catch {
      gcry_cipher_close(opened)
      throw error
    }
    handle = opened
  }

  deinit { gcry_cipher_close(handle) }

  /// Takes whole blocks, and continues where the last call ended.
  func encrypt(
    _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    try Gcrypt.check(
      gcry_cipher_encrypt(
        handle, ciphertext.baseAddress, ciphertext.count, plaintext.baseAddress, plaintext.count))
  }

  func decrypt(
    _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    try Gcrypt.check(
      gcry_cipher_decrypt(
        handle, plaintext.baseAddress, plaintext.count, ciphertext.baseAddress, ciphertext.count))
  }
}
