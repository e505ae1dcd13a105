// Sodium: a typed layer over libsodium, and the memory of every secret.
//
// ``SecureBytes`` owns the bytes of a secret, ``Key`` a key of 32 bytes. Both are in locked memory that
// no core dump has. Neither can be copied, only lent, and both are erased when they end. Sealed values,
// which may be on a disk, are `[UInt8]`. The type of a value therefore says whether it is secret.
//
//     try Sodium.initialize()
//     let key = try Key.random()
//     let sealed = AEAD.seal(secret.bytes, key: key, associated: place)
//
// ``AEAD`` seals one value, ``SecretStream`` a sequence of chunks, ``SealedBox`` to a public key.
// ``KeyedHash`` is the only pseudo-random function. ``PasswordHash`` is Argon2id. ``Ed25519`` signs for
// ssh.
//
// The module promises that associated data is authenticated with every sealed value, that inputs of a
// hash are framed by their length, and that comparisons of secrets take the same time wherever they
// differ. ``Sodium/eraseWhenEnded(and:atExit:)`` erases all secrets when the process ends. Errors
// carry no data.
//
// It does not promise that a page was locked: the kernel has a limit, and `latchkey status` tells when
// it was reached. It cannot erase what SIGKILL or a power cut leaves behind. Registers and the kernel's
// own copies are not in its hands. It does not choose purposes for keys. The module Keybag does, by
// labels that are in FORMAT.md.
//
// No other module calls libsodium, and none has a cipher of its own.

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
  /// - Throws: ``SodiumError/unavailable`` if the kernel gives no randomness.
  public static func initialize() throws(SodiumError) {
    guard sodium_init() >= 0 else { throw .unavailable }
  }

  /// From now on a signal or `exit` that ends this process erases its secrets first. Signals that are ignored or handled stay so.
  /// Only the signals of faults, which Swift's runtime may handle, are taken over by the first call.
  ///
  /// Every program of Latchkey that ever has passwords or keys calls it. Other people's programs handle their signals themselves.
  /// ``PasswordHash`` calls it.
  ///
  /// - Parameters:
  ///   - others: erases the secrets of another library. It runs in a signal handler.
  ///   - atExit: whether `exit` erases the secrets too. It must be false in a program whose threads use secrets, because the
  ///     threads still run meanwhile.
  public static func eraseWhenEnded(and others: (@convention(c) () -> Void)? = nil, atExit: Bool = true) {
    FinalErasure.begin(and: others, atExit: atExit)
  }

  /// `count` bytes from the kernel's generator, for salts and identifiers. Not for keys: ``Key/random()`` makes keys.
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

  /// Unkeyed BLAKE2b of `length` (16...64) bytes: it finds damage, but does not stop an attacker.
  public static func checksum(_ bytes: RawSpan, length: Int = 32) -> [UInt8] {
    precondition(length >= 16 && length <= 64)
    var out = [UInt8](repeating: 0, count: length)
    bytes.withOctets { input, count in _ = crypto_generichash(&out, length, input, UInt64(count), nil, 0) }
    return out
  }
}
