import Glibc
import Synchronization

/// Erases secrets before a signal or `exit` ends the process. No `deinit` runs then, and the kernel does not clear freed pages.
///
/// SIGKILL and a power cut leave no time to erase. Only the thread that gets the signal stops meanwhile, which is enough, because
/// programs with this handler use secrets on one thread, except the window.
enum FinalErasure {
  private static let signals = [
    SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2, SIGSYS, SIGXFSZ, SIGIO, SIGPROF, SIGVTALRM,
    SIGPWR, SIGSTKFLT,
  ]
  /// The signals of a fault, and SIGQUIT. Swift's runtime may handle these. It then lets another process read this process's memory
  /// for a backtrace, and erases nothing.
  private static let faults = [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP]

  /// A function of C's that erases the secrets of other libraries, or 0.
  private static let others = Atomic<UInt>(0)
  private static let isBegun = Atomic<Bool>(false)

  /// The size of the handler's stack. An endless recursion leaves no room on the usual stack.
  private static let stackSize = 65536

  private static let endAfterErasing: @convention(c) (Int32) -> Void = { signal in
    FinalErasure.erase()
    // The signal is blocked here. It ends the process when this handler returns.
    Glibc.signal(signal, SIG_DFL)
    raise(signal)
  }

  private static func erase() {
    // SIGKILL may follow, so the small values come first: the password and the keys.
    SecureMemory.eraseAll()
    WorkingMemory.erase()
    let function = FinalErasure.others.load(ordering: .relaxed)
    if function != 0 { unsafeBitCast(function, to: (@convention(c) () -> Void).self)() }
  }

  /// Installs the handler for `exit`, and for every unhandled signal that would end the process.
  ///
  /// - Parameters:
  ///   - others: erases the secrets of other libraries. It runs in a signal handler.
  ///   - atExit: false for a program with threads that use secrets. The threads still run during `exit`, and would send or store
  ///     zeros.
  static func begin(and others: (@convention(c) () -> Void)?, atExit: Bool) {
    // Both are initialised here, because a handler could interrupt a later initialisation.
    SecureMemory.prepareErasure()
    WorkingMemory.prepareErasure()
    if let others { FinalErasure.others.store(unsafeBitCast(others, to: UInt.self), ordering: .relaxed) }
    let isFirst = !isBegun.exchange(true, ordering: .relaxed)
    if isFirst { makeStack() }
    // The first registered function runs last, so no secret is used after it.
    if isFirst, atExit { Glibc.atexit { FinalErasure.erase() } }
    for signal in faults { erase(at: signal, evenHandled: isFirst) }
    for signal in signals + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax()) { erase(at: signal) }
  }

  private static func erase(at signal: Int32, evenHandled: Bool = false) {
    var present = sigaction()
    guard sigaction(signal, nil, &present) == 0 else { return }
    let handler = unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self)
    let isHandled = present.sa_flags & SA_SIGINFO != 0 || handler != 0  // SIG_DFL
    // 1 is SIG_IGN. An ignored signal does not end the process.
    let isIgnored = present.sa_flags & SA_SIGINFO == 0 && handler == 1
    guard !isIgnored, evenHandled || !isHandled else { return }
    var erasing = sigaction()
    erasing.__sigaction_handler.sa_handler = endAfterErasing
    erasing.sa_flags = SA_ONSTACK
    sigfillset(&erasing.sa_mask)
    sigaction(signal, &erasing, nil)
  }

  /// Gives the signal handler its own stack, on this thread.
  private static func makeStack() {
    guard
      let memory = mmap(
        nil, stackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0),
      memory != UnsafeMutableRawPointer(bitPattern: -1)
    else { return }
    var stack = stack_t()
    (stack.ss_sp, stack.ss_size) = (memory, stackSize)
    sigaltstack(&stack, nil)
  }
}
