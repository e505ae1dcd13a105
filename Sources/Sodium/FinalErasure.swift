import Glibc

/// Erases secrets before a signal ends the process: no `deinit` runs then, and the kernel keeps what is in freed pages.
///
/// SIGKILL and a power cut leave no time for it. Only the thread that gets the signal stops for it: a program derives keys on
/// its only thread.
enum FinalErasure {
  private static let signals = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV,
    SIGSYS, SIGTRAP,
  ]

  private static let endAfterErasing: @convention(c) (Int32) -> Void = { signal in
    WorkingMemory.erase()
    SecureMemory.eraseAll()
    // The signal is blocked here, and ends the process when this returns.
    Glibc.signal(signal, SIG_DFL)
    raise(signal)
  }

  /// Has every signal that ends the process as things are, and that nobody handles, erase first.
  static func begin() {
    for signal in signals {
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
