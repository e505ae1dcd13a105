import CLatchkeyGcrypt

/// The ciphers of other programs' files, without padding. The files have checks of their own that say whether the key was
/// right.
public enum UnpaddedCipher: Sendable {
  /// AES-128-CBC: gnome-keyring.
  case aes
  /// Blowfish-CBC: KWallet. A key may have up to 56 bytes.
  case blowfish
  /// Blowfish in ECB mode, with the bytes of each half of a block reversed: KWallet of KDE 4.
  case swappedBlowfish

  /// Bytes of a block, and of an IV.
  public var blockSize: Int { self == .aes ? 16 : 8 }

  private var algorithm: Int32 {
    Int32(self == .aes ? GCRY_CIPHER_AES.rawValue : GCRY_CIPHER_BLOWFISH.rawValue)
  }

  private var mode: Int32 {
    Int32(self == .swappedBlowfish ? GCRY_CIPHER_MODE_ECB.rawValue : GCRY_CIPHER_MODE_CBC.rawValue)
  }

  /// Decrypts whole blocks.
  ///
  /// - Parameters:
  ///   - ciphertext: a multiple of the block's size.
  ///   - key: 16 bytes for AES, 1 to 56 for Blowfish.
  ///   - iv: a block; empty for zeros, and in ECB mode.
  ///   - plaintext: memory of as many bytes as `ciphertext`, without an overlap. The caller owns and erases it.
  /// - Throws: `badBufferSize`, `outOfSecureMemory`, `library`.
  public func decrypt(
    _ ciphertext: RawSpan, key: RawSpan, iv: RawSpan = RawSpan(), into plaintext: consuming MutableRawSpan
  ) throws(GcryptError) {
    try plaintext.withUnsafeMutableBytes { plaintext throws(GcryptError) in
      try ciphertext.withUnsafeBytes { ciphertext throws(GcryptError) in
        try key.withUnsafeBytes { key throws(GcryptError) in
          try iv.withUnsafeBytes { iv throws(GcryptError) in
            try decrypt(ciphertext, key: key, iv: iv, into: plaintext)
          }
        }
      }
    }
  }

  private func decrypt(
    _ ciphertext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, iv: UnsafeRawBufferPointer,
    into plaintext: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    guard ciphertext.count.isMultiple(of: blockSize), iv.isEmpty || iv.count == blockSize,
      plaintext.count == ciphertext.count, self == .aes ? key.count == 16 : (1...56).contains(key.count)
    else { throw .badBufferSize }
    if ciphertext.isEmpty { return }
    try Gcrypt.initialize()
    var opened: gcry_cipher_hd_t?
    try Gcrypt.check(gcry_cipher_open(&opened, algorithm, mode, GCRY_CIPHER_SECURE.rawValue))
    guard let opened else { throw .outOfSecureMemory }
    defer { gcry_cipher_close(opened) }
    try Gcrypt.check(gcry_cipher_setkey(opened, key.baseAddress, key.count))
    // Without an IV, libgcrypt starts from zeros.
    if !iv.isEmpty { try Gcrypt.check(gcry_cipher_setiv(opened, iv.baseAddress, iv.count)) }
    plaintext.copyMemory(from: ciphertext)
    if self == .swappedBlowfish { Self.swap(plaintext) }
    try Gcrypt.check(gcry_cipher_decrypt(opened, plaintext.baseAddress, plaintext.count, nil, 0))
    if self == .swappedBlowfish { Self.swap(plaintext) }
  }

  /// Reverses the bytes of each half of a block.
  private static func swap(_ bytes: UnsafeMutableRawBufferPointer) {
    for start in stride(from: 0, to: bytes.count, by: 4) {
      bytes.swapAt(start, start + 3)
      bytes.swapAt(start + 1, start + 2)
    }
  }
}
