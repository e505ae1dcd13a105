/// AES-128-CBC without padding, as other programs' files have it. Their own check says whether the key was right.
public enum UnpaddedCipher {
  /// Bytes of a key, and of an IV.
  public static let keySize = 16

  /// Decrypts whole blocks.
  ///
  /// - Parameters:
  ///   - ciphertext: a multiple of 16 bytes.
  ///   - key: 16 bytes.
  ///   - iv: 16 bytes.
  ///   - plaintext: as many bytes as `ciphertext`, not overlapping it. The caller owns and erases them.
  /// - Throws: `badBufferSize`, `outOfSecureMemory`, `library`.
  public static func decrypt(
    _ ciphertext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, iv: UnsafeRawBufferPointer,
    into plaintext: UnsafeMutableRawBufferPointer
  ) throws(GcryptError) {
    guard ciphertext.count.isMultiple(of: SessionCipher.blockSize), iv.count == SessionCipher.blockSize,
      plaintext.count == ciphertext.count
    else { throw .badBufferSize }
    if ciphertext.isEmpty { return }
    try BlockChain(key: SessionKey(copying: key), iv: iv).decrypt(ciphertext, into: plaintext)
  }
}
