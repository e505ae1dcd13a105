import CLatchkeySodium

/// Anonymous public-key sealing (`crypto_box_seal`: X25519, XSalsa20-Poly1305): anyone with the public key can seal, only the
/// secret key opens. It does not authenticate the sender; a caller that needs authentication adds its own tag.
public enum SealedBox {
  /// The size of a public key, in bytes.
  public static let publicKeySize = 32
  /// The bytes by which a sealed value is longer than its plaintext.
  public static let overhead = 48

  /// The depth of the stack that the box uses below its caller, in bytes, with a wide margin.
  private static let stackToErase = 16384

  /// The public half of `secret`.
  public static func publicKey(of secret: borrowing Key) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: publicKeySize)
    secret.bytes.withOctets { secretBytes, _ in _ = crypto_scalarmult_base(&out, secretBytes) }
    // libsodium 1.0.18 leaves the secret's digits on the stack.
    sodium_stackzero(stackToErase)
    return out
  }

  /// Seals `plaintext` for the owner of `publicKey` (32 bytes).
  ///
  /// - Throws: ``SodiumError/badArgument`` for an invalid public key.
  public static func seal(_ plaintext: RawSpan, to publicKey: [UInt8]) throws(SodiumError) -> [UInt8] {
    guard publicKey.count == publicKeySize else { throw .badArgument }
    var out = [UInt8](repeating: 0, count: plaintext.byteCount + overhead)
    let status = plaintext.withOctets { crypto_box_seal(&out, $0, UInt64($1), publicKey) }
    // The cipher's frames had the key and the beginning of the plaintext.
    sodium_stackzero(stackToErase)
    guard status == 0 else { throw .badArgument }
    return out
  }

  /// Opens a value that was sealed for `secret`.
  ///
  /// - Throws: ``SodiumError/decryptionFailed``, ``SodiumError/outOfMemory``.
  public static func open(_ sealed: RawSpan, secret: borrowing Key) throws(SodiumError) -> SecureBytes {
    guard sealed.byteCount >= overhead else { throw .decryptionFailed }
    let publicKey = publicKey(of: secret)
    var plaintext = try SecureBytes(count: sealed.byteCount - overhead)
    let status = plaintext.withMutableOctets { out, _ in
      sealed.withOctets { input, count in
        secret.bytes.withOctets { secretBytes, _ in
          crypto_box_seal_open(out, input, UInt64(count), publicKey, secretBytes)
        }
      }
    }
    // libsodium 1.0.18 leaves the first 32 bytes of the plaintext on the stack: all of an item key (measured).
    sodium_stackzero(stackToErase)
    guard status == 0 else { throw .decryptionFailed }
    return plaintext
  }
}
