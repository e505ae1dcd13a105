import CLatchkeySodium

/// Ed25519 signatures (RFC 8032), as ssh keys use them.
public enum Ed25519 {
  /// The size of a public key, in bytes.
  public static let publicKeySize = 32
  /// The size of a secret key: the seed, and the public key behind it.
  public static let secretKeySize = 64
  /// The size of a signature, in bytes.
  public static let signatureSize = 64

  /// The depth of the stack that a signature uses below its caller, in bytes, with a wide margin.
  private static let stackToErase = 16384

  /// A new secret key. The last 32 bytes are the public key.
  public static func makeSecretKey() throws(SodiumError) -> SecureBytes {
    var secret = try SecureBytes(count: secretKeySize)
    var publicKey = [UInt8](repeating: 0, count: publicKeySize)
    secret.withMutableOctets { out, _ in _ = crypto_sign_keypair(&publicKey, out) }
    sodium_stackzero(stackToErase)
    return secret
  }

  /// Whether a secret key belongs to a public one.
  public static func isPair(_ publicKey: [UInt8], secretKey: RawSpan) -> Bool {
    guard publicKey.count == publicKeySize, secretKey.byteCount == secretKeySize,
      var made = try? SecureBytes(count: secretKeySize)
    else { return false }
    var derived = [UInt8](repeating: 0, count: publicKeySize)
    made.withMutableOctets { out, _ in
      secretKey.withOctets { seed, _ in _ = crypto_sign_seed_keypair(&derived, out, seed) }
    }
    sodium_stackzero(stackToErase)
    return derived == publicKey && Sodium.equal(made.bytes, secretKey)
  }

  /// Signs a message.
  ///
  /// - Throws: ``SodiumError/badArgument`` for a secret key of another size.
  public static func sign(_ message: RawSpan, secretKey: RawSpan) throws(SodiumError) -> [UInt8] {
    guard secretKey.byteCount == secretKeySize else { throw .badArgument }
    var signature = [UInt8](repeating: 0, count: signatureSize)
    message.withOctets { input, count in
      secretKey.withOctets { key, _ in _ = crypto_sign_detached(&signature, nil, input, UInt64(count), key) }
    }
    sodium_stackzero(stackToErase)
    return signature
  }

  /// Whether `signature` is the signature of a message.
  public static func isSignature(_ signature: [UInt8], of message: RawSpan, publicKey: [UInt8]) -> Bool {
    guard signature.count == signatureSize, publicKey.count == publicKeySize else { return false }
    return message.withOctets { input, count in
      crypto_sign_verify_detached(signature, input, UInt64(count), publicKey) == 0
    }
  }
}
