import CLatchkeySodium

/// The layer over libsodium: the only module of the project that calls it.
///
/// Everything that is a secret lives in ``SecureBytes`` or ``Key``; everything that may be on disk is `[UInt8]`.
///
/// - ``AEAD``: XChaCha20-Poly1305, for every sealed value.
/// - ``KeyedHash``: BLAKE2b with a key, for key derivation, authentication tags and index tokens.
/// - ``PasswordHash``: Argon2id, for passwords that a person types.
/// - ``SecretStream``: XChaCha20-Poly1305 over many chunks, for backups.
/// - ``SealedBox``: X25519, for items that are stored while their class key is erased.
public enum Sodium {
  /// Prepares libsodium. Every program calls it first; calling it again is harmless.
  ///
  /// - Throws: ``SodiumError/unavailable`` when the kernel gives no randomness.
  public static func initialize() throws(SodiumError) {
    guard sodium_init() >= 0 else { throw .unavailable }
  }

  /// From now on a signal that ends this process erases its secrets first. Signals that are ignored or handled stay so, except
  /// those of faults at the first call: Swift's runtime may handle these.
  ///
  /// Every program of ours that has passwords or keys at any moment calls it. Other people's programs decide by themselves what
  /// their signals do. ``PasswordHash`` calls it.
  ///
  /// - Parameter others: erases the secrets of another library. It runs in a signal handler.
  public static func eraseWhenEnded(and others: (@convention(c) () -> Void)? = nil) { FinalErasure.begin(and: others) }

  /// `count` bytes from the kernel's generator, for salts and identifiers. Not for keys: those are ``Key/random()``.
  public static func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    randombytes_buf(&bytes, count)
    return bytes
  }

  /// Whether two byte strings are equal, in a time that does not depend on where they differ.
  public static func equal(_ left: RawSpan, _ right: RawSpan) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    return left.withOctets { l, count in right.withOctets { r, _ in sodium_memcmp(l, r, count) == 0 } }
  }

  /// Whether two tags are equal, in a time that does not depend on where they differ.
  public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    equal(left.span.bytes, right.span.bytes)
  }

  /// Unkeyed BLAKE2b of `length` (16...64) bytes: finds damage, proves nothing against an attacker.
  public static func checksum(_ bytes: RawSpan, length: Int = 32) -> [UInt8] {
    precondition(length >= 16 && length <= 64)
    var out = [UInt8](repeating: 0, count: length)
    bytes.withOctets { input, count in _ = crypto_generichash(&out, length, input, UInt64(count), nil, 0) }
    return out
  }
}
