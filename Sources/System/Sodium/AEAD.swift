import CLatchkeySodium

/// XChaCha20-Poly1305 (`crypto_aead_xchacha20poly1305_ietf`) with a random nonce of 24 bytes in front.
///
/// The nonce is long enough that random ones never meet under one key. The cipher does not commit to its key: a caller that tries
/// several keys also checks a commitment.
public enum AEAD {
  /// The bytes by which a sealed value is longer than its plaintext: 24 for the nonce and 16 for the tag.
  public static let overhead = 24 + 16

  private static let stackToErase = 16384

  /// Seals `plaintext` under `key`, bound to `associated`.
  ///
  /// - Returns: nonce, ciphertext, tag: `plaintext.byteCount + overhead` bytes.
  public static func seal(_ plaintext: RawSpan, key: borrowing Key, associated: [UInt8]) -> [UInt8] {
    let total = plaintext.byteCount + overhead
    var out = [UInt8](repeating: 0, count: total)
    out.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      randombytes_buf(start, 24)
      plaintext.withOctets { input, count in
        key.bytes.withOctets { keyBytes, _ in
          _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
            start + 24, nil, input, UInt64(count), associated, UInt64(associated.count), nil, start, keyBytes)
        }
      }
    }
    // libsodium 1.0.18 leaves the stream's key on the stack, and later calls may not overwrite it (measured).
    sodium_stackzero(stackToErase)
    return out
  }

  /// Opens a value that ``seal(_:key:associated:)`` made.
  ///
  /// - Throws: ``SodiumError/decryptionFailed`` for anything else, ``SodiumError/outOfMemory``.
  public static func open(
    _ sealed: RawSpan, key: borrowing Key, associated: [UInt8]
  ) throws(SodiumError) -> SecureBytes {
    guard sealed.byteCount >= overhead else { throw .decryptionFailed }
    var plaintext = try SecureBytes(count: sealed.byteCount - overhead)
    let status = plaintext.withMutableOctets { out, _ in
      sealed.withOctets { input, count in
        key.bytes.withOctets { keyBytes, _ in
          crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, nil, nil, input + 24, UInt64(count - 24), associated, UInt64(associated.count), input, keyBytes)
        }
      }
    }
    sodium_stackzero(stackToErase)
    guard status == 0 else { throw .decryptionFailed }
    return plaintext
  }
}
