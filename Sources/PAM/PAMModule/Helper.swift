import CLatchkeyHelper
import CLatchkeyPAMModule

/// A run of latchkey-derive for one request. The helper does everything that could fail. This process only spawns, polls and reaps
/// it.
///
/// This uses posix_spawn and never fork, because another thread of the caller may hold any lock, such as malloc's, at the moment of
/// a fork.
struct Helper: ~Copyable {
  /// How a request ended.
  enum Ending {
    case answered(Outcome)
    /// The helper gave an invalid answer.
    case garbled
    /// A signal ended the helper before an answer.
    case killed(signal: Int32)
    /// The helper ended without an answer. Its exit status is unknown if the caller reaps all its children itself.
    case silent
    case timedOut
    case notStarted(error: Int32)
  }

  private let process: pid_t
  private let socket: Int32

  deinit { _ = close(socket) }

  /// So many milliseconds before the deadline, this process tells the helper to continue alone. The helper answers first, and then
  /// is no longer a child of this process.
  private static let goOnTime: Int64 = 250

  /// Gives one request to a new helper and waits for its answer, at most until the deadline. The helper erases the request after
  /// reading it.
  ///
  /// - Parameter mayGoOn: whether the helper continues after the deadline. If not, it is killed at the deadline.
  static func answer(
    to request: consuming Request, path: UnsafePointer<CChar>, until deadline: Deadline, mayGoOn: Bool
  ) -> Ending {
    var error: Int32 = 0
    guard let helper = Helper(path: path, error: &error) else { return .notStarted(error: error) }
    // A helper that has already ended is no failure, because it may have answered. If it got no request, it cannot continue after
    // the deadline.
    let isSent = helper_send_memory(helper.socket, request.descriptor) == 0
    guard mayGoOn, isSent else {
      _ = shutdown(helper.socket, Int32(truncatingIfNeeded: SHUT_WR))
      return helper.receive(until: deadline)
    }
    if helper.waitForInput(until: deadline.sooner(by: goOnTime)) { return helper.receive(until: deadline) }
    // The socket has this byte after the request. So the helper's supervisor finds the byte even if this process does not wait.
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
    _ = close(ends.theirs)  // Otherwise this process would not notice that the helper ends.
    guard error == 0 else {
      _ = close(ends.ours)
      return nil
    }
    process = child
    socket = ends.ours
  }

  /// Makes a connected pair, both close-on-exec and above 2. If the caller has closed 0, 1 or 2, one of the pair could get this
  /// number. This process and the helper would then take it for a standard stream.
  private static func connect(_ ends: inout (ours: Int32, theirs: Int32)) -> Bool {
    var pair: (Int32, Int32) = (-1, -1)
    let made = withUnsafeMutableBytes(of: &pair) { bytes in
      // A tuple of two Int32 has the layout of C's int[2].
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

  /// Moves a descriptor above 2. If this fails, it returns false with errno, and the descriptor is unchanged.
  static func lift(_ descriptor: inout Int32) -> Bool {
    if descriptor > 2 { return true }
    let higher = latchkey_duplicate_above(descriptor, 3)
    guard higher >= 0 else { return false }
    _ = close(descriptor)
    descriptor = higher
    return true
  }

  /// Starts the helper. Returns 0, or an error number. The helper gets its end of the socket as descriptor 0, /dev/null as 1 and 2,
  /// and no other descriptor. It has default signals and blocks none. It has its own session, the folder `/`, and a fixed
  /// environment.
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
    // execve declares the strings as char *const, but never writes to them.
    var arguments: (Word?, Word?) = (Word(mutating: name.cString), nil)
    var environment: (Word?, Word?, Word?) = (
      Word(mutating: search.cString), Word(mutating: language.cString), nil
    )
    // This lends the whole tuple, not only its first element, so that all elements are in memory in C's layout.
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
      var answer: (UInt8, UInt8) = (0, 0)  // A valid answer has one byte. Two bytes show a longer one.
      let count = withUnsafeMutableBytes(of: &answer) {
        recv(socket, $0.baseAddress, 2, Int32(truncatingIfNeeded: MSG_DONTWAIT))
      }
      if count < 0 && (latchkey_errno() == EAGAIN || latchkey_errno() == EINTR) { continue }
      // After an answer the helper exits by itself, and after the end of the stream it has already exited. So a short timeout is
      // enough.
      let signal = reap(grace: deadline.orSooner(200))
      if count > 0 {
        guard count == 1, let outcome = Outcome(answer: answer.0) else { return .garbled }
        return .answered(outcome)
      }
      return signal > 0 ? .killed(signal: signal) : .silent  // The stream ended, or was reset.
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
      // After 0 and EINTR the deadline decides, so many signals cannot prolong the wait.
      if count < 0 && latchkey_errno() != EINTR { return false }
    }
  }

  /// Reaps the helper, and kills it after the time `grace`. Returns the signal that ended the helper, or 0.
  ///
  /// This never waits for long. A process that is stuck on a dead mount does not end even after SIGKILL, and is then left to the
  /// caller. The kill cannot hit another process: waitpid answers 0 only while the helper exists and is a child of this process. If
  /// SIGCHLD is ignored, or the caller has already reaped the helper, waitpid answers ECHILD, and nothing is left to do.
  private func reap(grace: Deadline) -> Int32 {
    var wasKilled = false
    var timeout = 20
    while true {
      var status: Int32 = 0
      let found = waitpid(process, &status, WNOHANG)
      // The signal of our own kill is not reported.
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
