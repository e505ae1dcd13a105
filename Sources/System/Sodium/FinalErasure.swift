import Glibc

/// Erases secrets before a signal ends the process: no `deinit` runs then, and the kernel keeps what is in freed pages.
///
/// SIGKILL and a power cut leave no time for it. Only the thread that gets the signal stops for it: the programs that have this use
/// secrets on one thread.
enum FinalErasure {
  private static let signals = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV,
    SIGSYS, SIGTRAP, SIGXFSZ, SIGIO, SIGPROF, SIGVTALRM, SIGPWR, SIGSTKFLT,
  ]

  private static let endAfterErasing: @convention(c) (Int32) -> Void = { signal in
    // SIGKILL may follow: first what is small, and is the password and the keys.
    SecureMemory.eraseAll()
    WorkingMemory.erase()
    // The signal is blocked here, and ends the process when this returns.
    Glibc.signal(signal, SIG_DFL)
    raise(signal)
  }

  /// Has every signal that ends the process as things are, and that nobody handles, erase first.
  static func begin() {
    // Initialized here, and not in a handler, which may have interrupted that.
    SecureMemory.prepareErasure()
    WorkingMemory.prepareErasure()
    for signal in signals + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax()) {
      var present = sigaction()
      guard sigaction(signal, nil, &present) == 0, present.sa_flags & SA_SIGINFO == 0,
        unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self) == 0  // SIG_DFL
      else { continue }
      var erasing = sigaction()
      erasing.__sigaction_handler.sa_handler = endAfterErasing
      sigfillset(&erasing.sa_mask)
      sigaction(signal, &erasing, nil)
    }
  }
}
