import CLatchkeySodium

/// Argon2id version 1.3 (RFC 9106) with one lane, as libsodium computes it (`crypto_pwhash`).
///
/// A program that calls it links `ErasedMappings`, for ``WorkingMemory``.
public enum PasswordHash {
  /// The size of a salt, in bytes.
  public static let saltSize = 16

  /// The most memory that libsodium accepts for one derivation, in bytes.
  static let memoryLimit: UInt64 = 4 << 30
  /// The depth of the stack that Argon2id uses below its caller, in bytes, with a wide margin.
  private static let stackToErase = 32768

  /// The key that comes from `password` with this salt and cost.
  ///
  /// - Parameters:
  ///   - passes: at least 1.
  ///   - memory: in bytes, a multiple of 1024, at least 8 KiB. The caller must limit a number from a file.
  /// - Throws: ``SodiumError/outOfMemory`` if the system does not give `memory` bytes. Another try with less would give another
  ///   key.
  public static func derive(
    password: RawSpan, salt: [UInt8], passes: UInt32, memory: UInt64
  ) throws(SodiumError) -> Key {
    guard salt.count == saltSize, passes >= 1, (8192...memoryLimit).contains(memory) else { throw .badArgument }
    var out = try SecureBytes(count: Key.size)
    Sodium.eraseWhenEnded()
    let status = out.withMutableOctets { buffer, size in
      password.withOctets { input, count in
        input.withMemoryRebound(to: CChar.self, capacity: max(count, 1)) { text in
          WorkingMemory.expect(Int(memory), succeeded: { $0 == 0 }) {
            let status = crypto_pwhash(
              buffer, UInt64(size), text, UInt64(count), salt, UInt64(passes), Int(memory),
              crypto_pwhash_ALG_ARGON2ID13)
            // The stack is erased from the caller's frame down, because functions called in between overwrite less of it.
            sodium_stackzero(stackToErase / 2)
            return status
          }
        }
      }
    }
    // libsodium 1.0.18 leaves the derived key on the stack, some 4 KiB down; its other functions clean up (both
    // measured).
    sodium_stackzero(stackToErase)
    guard status == 0 else { throw .outOfMemory }
    return try Key(out)
  }
}
