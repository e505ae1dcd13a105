import CLatchkeyLinux
import Glibc

/// A started program. Instead of a wait, an event loop tells when it has ended.
public final class ChildProcess {
  /// The child's number, until ``reap()``.
  public let pid: Int32
  private let end: FileDescriptor

  /// Starts `program` with a clean descriptor table, and without blocked signals.
  ///
  /// - Parameters:
  ///   - input: the child's standard input, lent; nil without input.
  ///   - output: the descriptor for the child's standard output; nil for this process's standard error.
  ///   - errors: the descriptor for the child's standard error; nil for this process's own.
  ///   - environment: the child's environment; nil for this process's own.
  ///   - keepsIgnoredSignals: whether the child ignores the signals that this process ignores. Otherwise all signals are as usual.
  public init(
    _ program: String, _ arguments: [String], input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil,
    environment: [String]? = nil, keepsIgnoredSignals: Bool = false
  ) throws(PosixError) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
    }
    // The output of the daemon's children goes to the daemon's own standard error. The former descriptors are closed below.
    posix_spawn_file_actions_adddup2(&actions, output ?? 2, 1)
    posix_spawn_file_actions_adddup2(&actions, errors ?? 2, 2)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    if !keepsIgnoredSignals { sigfillset(&signals) } else { sigemptyset(&signals) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    // An event loop blocks signals, and the child would inherit the block.
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = (environment ?? []).map { strdup($0) } + [nil]
    defer { for word in words + variables { free(word) } }
    var child: pid_t = 0
    let status = variables.withUnsafeMutableBufferPointer { given in
      posix_spawn(&child, program, &actions, &attributes, &words, environment == nil ? environ : given.baseAddress)
    }
    guard status == 0 else { throw PosixError("posix_spawn", code: status) }
    pid = child
    let descriptor = linux_pidfd_open(child)
    guard descriptor >= 0 else {
      let error = PosixError("pidfd_open")
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
      throw error
    }
    end = FileDescriptor(owning: descriptor)
  }

  /// Readable when the program has ended.
  public var descriptor: Int32 { end.number }

  /// Sends the child a signal. Does nothing after its end, even if another process has its number by then.
  public func send(_ signal: Int32) { _ = linux_pidfd_send_signal(end.number, signal) }

  /// Waits for the child's end, and collects it.
  public func wait() { while waitpid(pid, nil, 0) < 0 && errno == EINTR {} }

  /// Collects the ended process. Call it only after its end.
  ///
  /// - Returns: the child's exit status; -1 if a signal ended it.
  @discardableResult
  public func reap() -> Int32 {
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid, status & 0x7f == 0 else { return -1 }
    return status >> 8 & 0xff
  }
}
