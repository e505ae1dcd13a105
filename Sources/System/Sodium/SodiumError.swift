/// An error of the cryptographic layer. No case carries data: an error never repeats a secret.
public enum SodiumError: Error, Equatable, Sendable {
  /// libsodium could not be initialised (no source of randomness).
  case unavailable
  /// Memory for a secret, or for Argon2id, was not available.
  case outOfMemory
  /// The ciphertext was not made by this key with this associated data, or it was altered.
  case decryptionFailed
  /// An argument has a length or a value outside what the primitive takes.
  case badArgument
}
