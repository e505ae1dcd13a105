/// An error of this module. No case carries anything secret.
public enum GcryptError: Error, Equatable, Sendable {
  /// libgcrypt is older than 1.10, or its start-up failed.
  case unusableLibrary
  /// Secure memory is used up: the operation was not done.
  case outOfSecureMemory
  /// The peer's public key is empty, longer than the prime and one byte, or not in the range 2 … p − 2.
  case badPublicKey
  /// A caller's buffer does not have the size that the operation requires.
  case badBufferSize
  /// The ciphertext did not decrypt: wrong length, IV, key or padding. The error does not tell the cause.
  case undecryptable
  /// libgcrypt's own error code, without its source part.
  case library(code: UInt32)
}
