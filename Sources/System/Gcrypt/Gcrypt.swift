// Gcrypt: a typed layer over libgcrypt, for protocols and files of other programs.
//
// Latchkey's own cryptography is libsodium's. libgcrypt has algorithms that others prescribe and libsodium lacks. The Secret
// Service's encrypted sessions and GNOME's prompter use Diffie-Hellman and AES-CBC. Foreign keyrings use PBKDF2, old ciphers, SHA-1
// and MD5. Keys of ssh use ECDSA and RSA.
//
// A program calls ``Gcrypt/initialize()`` first. It then uses ``KeyAgreement`` and ``SessionCipher``
// for sessions, ``UnpaddedCipher``, ``PasswordKey`` and ``Digest`` for files, and ``SigningKey`` for
// signatures.
//
//     try Gcrypt.initialize()
//     let agreement = try KeyAgreement(group: .secretService)
//     send(agreement.publicKey)
//
// The module promises that secret numbers, keys and session keys are in libgcrypt's secure memory. It is locked page by page as
// it is used, and erased when the value ends. ``Gcrypt/eraseAll`` erases it in a signal handler. Types that own a secret are not
// copyable. Errors carry no data.
//
// It does not decide which algorithm is good enough. Nothing of Latchkey's own depends on MD5, SHA-1 or PBKDF2: a file of another
// program decides, and such a file is only read. It does not authenticate what AES-CBC decrypts, because the protocols with AES-CBC
// do not authenticate. No other module calls libgcrypt.

import CLatchkeyGcrypt

/// The start-up of libgcrypt, which must come before any other call.
public enum Gcrypt {
  /// Bytes of locked memory for secret numbers and keys. A session's key takes less than 64 bytes, and a handshake a few KiB
  /// while it runs. So this serves over 12,288 sessions (tested), the service's limit. It stays far below the usual
  /// RLIMIT_MEMLOCK of 8 MiB.
  private static let secureMemorySize: UInt32 = 1024 * 1024

  /// Starts libgcrypt once per process: version check, secure memory, end of initialization.
  ///
  /// Everything else in this module calls it. A program calls it early, so that it sees a failure at its start, and locks the
  /// memory before it gives up the right to do so. If another library in the process was first, its settings stay. If the system
  /// refuses to lock the memory, the program continues without the lock. The memory is still erased when it is freed.
  ///
  /// - Throws: `unusableLibrary`.
  public static func initialize() throws(GcryptError) {
    try start.get()
  }

  /// Erases every secret number and key, in use or not: for a process about to end. Safe in a signal handler, and harmless before
  /// ``initialize()``.
  public static let eraseAll: @convention(c) () -> Void = { latchkey_gcry_end_secmem() }

  /// Evaluated once, by the first caller.
  private static let start: Result<Void, GcryptError> = {
    // Debian 12 has 1.10, the first release that we tested. This call also starts the library.
    guard gcry_check_version("1.10.0") != nil else { return .failure(.unusableLibrary) }
    if latchkey_gcry_initialized() != 0 { return .success(()) }
    // libgcrypt's warnings stay off, because they would go to standard error, and nobody could act on them there.
    latchkey_gcry_suspend_secmem_warning()
    latchkey_gcry_init_secmem(secureMemorySize)
    guard latchkey_gcry_finish_initialization() == 0, latchkey_gcry_initialized() != 0,
      // The first allocation shows whether secure memory exists at all.
      let probe = gcry_malloc_secure(1), gcry_is_secure(probe) != 0
    else { return .failure(.unusableLibrary) }
    // The memory is locked before any secret is in it, or stays unlocked if locking fails.
    _ = latchkey_gcry_lock_secmem(probe, Int(secureMemorySize))
    gcry_free(probe)
    return .success(())
  }()

  /// Turns libgcrypt's answer into an error.
  static func check(_ result: gcry_error_t) throws(GcryptError) {
    guard result != 0 else { return }
    let code = gcry_err_code(result)
    if code == GPG_ERR_ENOMEM { throw .outOfSecureMemory }
    throw .library(code: code.rawValue)
  }
}
