import CLatchkeyGcrypt

/// libgcrypt itself: its start-up, which must come before anything else is asked of it.
public enum Gcrypt {
  /// Bytes of locked memory for secret numbers and keys. A session's key takes less than 64 of them, and a handshake a few
  /// KiB while it runs. So this serves over 12,288 sessions (tested), the service's limit. It stays far below the usual
  /// RLIMIT_MEMLOCK of 8 MiB.
  private static let secureMemorySize: UInt32 = 1024 * 1024

  /// Starts libgcrypt once per process: version check, secure memory, end of initialization.
  ///
  /// Everything else in this module calls it; a program calls it early to learn about failure at its start and
  /// to have the memory locked before it drops the right to. If another library in the process was first,
  /// its settings stay. Where the system refuses to lock the memory, this goes on without the lock; the memory is erased at
  /// release all the same.
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
    // 1.10 is what Debian 12 ships, and the first release we tested. The call is also what starts the library.
    guard gcry_check_version("1.10.0") != nil else { return .failure(.unusableLibrary) }
    if latchkey_gcry_initialized() != 0 { return .success(()) }
    // Never resumed: its warnings would go to stderr, and nobody there could act on them.
    latchkey_gcry_suspend_secmem_warning()
    latchkey_gcry_init_secmem(secureMemorySize)
    guard latchkey_gcry_finish_initialization() == 0, latchkey_gcry_initialized() != 0,
      // Whether it is there at all shows by using it.
      let probe = gcry_malloc_secure(1), gcry_is_secure(probe) != 0
    else { return .failure(.unusableLibrary) }
    // Before anything secret is in it. Where it cannot be locked, it is there all the same.
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
