import CLatchkeyHelper
import CLatchkeyPAMModule

/// latchkey-derive, started for one request. The helper does everything that could fail. This side only spawns, polls and
/// reaps.
///
/// posix_spawn and never fork: a caller with threads may hold any lock, also malloc's, at the moment of a fork.
struct Helper: ~Copyable {
  /// How a request ended.
  enum Ending {
    case answered(Outcome)
    /// An invalid answer.
    case garbled
    /// No answer, and dead by this signal.
    case killed(signal: Int32)
    /// The helper ended without an answer. How it ended is unknown if the caller reaps all children by itself.
    case silent
    case timedOut
    case notStarted(error: Int32)
  }

  private let process: pid_t
  private let socket: Int32

  deinit { _ = close(socket) }

  /// How long before the deadline the helper is told to go on alone, in milliseconds. The helper answers, and only then stops
  /// being a child of this process.
  private static let goOnTime: Int64 = 250

  /// Gives one request to a new helper and waits for its answer, at most until the deadline.
  /// The request is erased when the helper has read it.
  ///
  /// - Parameter mayGoOn: whether the helper goes on after the deadline; else it is killed then.
  static func answer(
    to request: consuming Request, path: UnsafePointer<CChar>, until deadline: Deadline, mayGoOn: Bool
  ) -> Ending {
    var error: Int32 = 0
    guard let helper = Helper(path: path, error: &error) else { return .notStarted(error: error) }
    // A helper that went away early is no failure here: it may have answered. A helper that got no request has nothing to go on
    // with.
    let isSent = helper_send_memory(helper.socket, request.descriptor) == 0
    guard mayGoOn, isSent else {
      _ = shutdown(helper.socket, Int32(truncatingIfNeeded: SHUT_WR))
      return helper.receive(until: deadline)
    }
    if helper.waitForInput(until: deadline.sooner(by: goOnTime)) { return helper.receive(until: deadline) }
    // The byte stands behind the request, so the helper's supervisor finds it even if this process did not wait for that.
    _ = withUnsafePointer(to: UInt8(truncatingIfNeeded: HELPER_GO_ON)) {
      CLatchkeyPAMModule.send(helper.socket, $0, 1, Int32(truncatingIfNeeded: MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    let ending = helper.receive(until: deadline)
    if case .timedOut = ending { request.leaveToHelper() }
    return ending
  }

  private init?(path: UnsafePointer<CChar>, error: inout Int32) {
    var ends: (ours: Int32, theirs: Int32) = (-1, -1)
    guard Helper.connect(&ends) else {
      error = latchkey_errno()
      return nil
    }
    var child: pid_t = 0
    error = Helper.spawn(path, input: ends.theirs, &child)
    _ = close(ends.theirs)  // Otherwise this process would not see the helper's end.
    guard error == 0 else {
      _ = close(ends.ours)
      return nil
    }
    process = child
    socket = ends.ours
  }

  /// A connected pair, both close-on-exec and above 2: in a caller that closed 0, 1 or 2, one of them would be taken
  /// for a standard stream, here and in the helper.
  private static func connect(_ ends: inout (ours: Int32, theirs: Int32)) -> Bool {
    var pair: (Int32, Int32) = (-1, -1)
    let made = withUnsafeMutableBytes(of: &pair) { bytes in
      // Two Int32 in a tuple are laid out as C lays out int[2].
      bytes.baseAddress.map {
        socketpair(
          AF_UNIX, Int32(truncatingIfNeeded: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0,
          $0.assumingMemoryBound(to: Int32.self))
      } ?? -1
    }
    guard made == 0 else { return false }
    guard lift(&pair.0), lift(&pair.1) else {
      let error = latchkey_errno()
      _ = close(pair.0)
      _ = close(pair.1)
      latchkey_set_errno(error)
      return false
    }
    ends = (pair.0, pair.1)
    return true
  }

  /// Moves a descriptor above 2. If that fails, returns false with errno, and the descriptor stays as it was.
  static func lift(_ descriptor: inout Int32) -> Bool {
    if descriptor > 2 { return true }
    let higher = latchkey_duplicate_above(descriptor, 3)
    guard higher >= 0 else { return false }
    _ = close(descriptor)
    descriptor = higher
    return true
  }

  /// 0, or an error number. The helper gets its end as descriptor 0, /dev/null as 1 and 2, nothing else; default
  /// signals, none blocked; a session of its own; `/` as folder; a fixed environment.
  private static func spawn(_ path: UnsafePointer<CChar>, input: Int32, _ child: inout pid_t) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    var error = posix_spawn_file_actions_init(&actions)
    guard error == 0 else { return error }
    defer { _ = posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t()
    error = posix_spawnattr_init(&attributes)
    guard error == 0 else { return error }
    defer { _ = posix_spawnattr_destroy(&attributes) }

    let null: Literal = "/dev/null"
    error = posix_spawn_file_actions_adddup2(&actions, input, 0)
    if error == 0 { error = posix_spawn_file_actions_addopen(&actions, 1, null.cString, O_WRONLY, 0) }
    if error == 0 { error = posix_spawn_file_actions_addopen(&actions, 2, null.cString, O_WRONLY, 0) }
    if error == 0 { error = posix_spawn_file_actions_addclosefrom_np(&actions, 3) }
    if error == 0 { error = posix_spawn_file_actions_addchdir_np(&actions, ("/" as Literal).cString) }
    guard error == 0 else { return error }

    var signals = sigset_t()
    _ = sigfillset(&signals)
    error = posix_spawnattr_setsigdefault(&attributes, &signals)
    _ = sigemptyset(&signals)
    if error == 0 { error = posix_spawnattr_setsigmask(&attributes, &signals) }
    let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID
    if error == 0 { error = posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags)) }
    guard error == 0 else { return error }

    typealias Word = UnsafeMutablePointer<CChar>
    let name: Literal = "latchkey-derive"
    let search: Literal = "PATH=/usr/bin:/bin"
    let language: Literal = "LANG=C"
    // execve takes the strings as char *const and never writes to them.
    var arguments: (Word?, Word?) = (Word(mutating: name.cString), nil)
    var environment: (Word?, Word?, Word?) = (
      Word(mutating: search.cString), Word(mutating: language.cString), nil
    )
    // The whole tuple is lent, not its first element, so that all of it is in memory and in C's layout.
    return withUnsafeMutablePointer(to: &arguments) { words in
      let argumentVector = UnsafeMutableRawPointer(words).assumingMemoryBound(to: Word?.self)
      return withUnsafeMutablePointer(to: &environment) { words in
        let variableVector = UnsafeMutableRawPointer(words).assumingMemoryBound(to: Word?.self)
        return posix_spawn(&child, path, &actions, &attributes, argumentVector, variableVector)
      }
    }
  }

  private func receive(until deadline: Deadline) -> Ending {
    while waitForInput(until: deadline) {
      var answer: (UInt8, UInt8) = (0, 0)  // A right answer has one byte less.
      let count = withUnsafeMutableBytes(of: &answer) {
        recv(socket, $0.baseAddress, 2, Int32(truncatingIfNeeded: MSG_DONTWAIT))
      }
      if count < 0 && (latchkey_errno() == EAGAIN || latchkey_errno() == EINTR) { continue }
      // After an answer the helper exits by itself, and after the end of the stream it has exited. A short timeout is enough.
      let signal = reap(grace: deadline.orSooner(200))
      if count > 0 {
        guard count == 1, let outcome = Outcome(answer: answer.0) else { return .garbled }
        return .answered(outcome)
      }
      return signal > 0 ? .killed(signal: signal) : .silent  // the stream ended, or was reset
    }
    _ = reap(grace: Deadline(after: 0))
    return .timedOut
  }

  private func waitForInput(until deadline: Deadline) -> Bool {
    while true {
      let left = deadline.left
      guard left > 0 else { return false }
      var entry = pollfd(fd: socket, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
      let count = poll(&entry, 1, Int32(truncatingIfNeeded: left))
      if count > 0 { return true }
      // 0 and EINTR: the deadline decides, so a storm of signals does not prolong it.
      if count < 0 && latchkey_errno() != EINTR { return false }
    }
  }

  /// Collects the helper, killing it when the grace is over; returns the signal it died by, or 0.
  ///
  /// Never waits for long: a process stuck on a dead mount does not even die of SIGKILL. It is left to the caller then. The
  /// kill cannot hit a stranger: waitpid answers 0 only while the process exists and is a child of this one. If SIGCHLD is
  /// ignored, or the caller has collected the helper already, waitpid answers ECHILD, and nothing is left to do.
  private func reap(grace: Deadline) -> Int32 {
    var wasKilled = false
    var timeout = 20
    while true {
      var status: Int32 = 0
      let found = waitpid(process, &status, WNOHANG)
      // A death by this kill is not reported. The outcome before it is.
      if found == process { return wasKilled ? 0 : latchkey_terminating_signal(status) }
      if found < 0 && latchkey_errno() != EINTR { return 0 }
      if wasKilled {
        timeout = timeout &- 1
        if timeout < 0 { return 0 }
      } else if found == 0 && grace.left == 0 {
        _ = kill(process, SIGKILL)
        wasKilled = true
      }
      _ = poll(nil, 0, 1)
    }
  }
}
