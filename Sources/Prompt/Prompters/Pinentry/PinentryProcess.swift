import Glibc
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// A running pinentry. It is the first `pinentry` in PATH, so a person chooses it as for GnuPG.
final class PinentryProcess {
  /// The process number; 0 after the process was reaped.
  private var process: pid_t = 0
  /// Carries the commands to pinentry. It is a socket, because writing into a pipe would raise a signal if pinentry has ended.
  private let socket: FileDescriptor
  /// Carries the answers from pinentry. It is a pipe, because the buffer of a socket cannot be overwritten.
  private let answers: FileDescriptor
  private let reader: AssuanReader
  private let deadline: PromptDeadline
  private var source: EventSource?
  /// Whether unread data may have come.
  private(set) var hasInput = false

  /// Starts a pinentry without a controlling terminal.
  ///
  /// - Parameter hidden: environment variables that pinentry does not get.
  init?(without hidden: Set<String>, deadline: PromptDeadline) {
    guard let reader = try? AssuanReader(), let ends = try? FileDescriptor.connectedPair() else { return nil }
    let commands = FileDescriptor(owning: ends.1)
    socket = FileDescriptor(owning: ends.0)
    self.reader = reader
    self.deadline = deadline
    var process: pid_t?
    let pipe = try? FileDescriptor.pipeOfOnePage { process = Self.spawn(commands.number, $0, without: hidden) }
    guard let pipe, let process else { return nil }
    answers = pipe
    self.process = process
    source = try? deadline.loop.addIO(fd: answers.number, events: .readable) { [weak self] _ in self?.hasInput = true }
  }

  deinit { stop() }

  /// Waits for the end of a command. Pinentry's greeting counts as the end of a command.
  ///
  /// - Parameter isDone: returns true when the caller no longer waits for the end.
  /// - Returns: nil if it took too long, if pinentry ended, or if `isDone` returned true.
  func response(
    atMost limit: Duration? = PromptDeadline.programLimit, or isDone: () -> Bool = { false }
  ) -> Assuan.End? {
    while true {
      while let end = reader.next() {
        // Pinentry writes nothing before the next command, so the pipe can be overwritten now.
        answers.overwritePipe()
        guard end == .asksQuality else { return end }
        sendQuality()
      }
      hasInput = false
      guard deadline.wait(atMost: limit, until: { hasInput || isDone() }), hasInput else { return nil }
      let number = answers.number
      let count = reader.read(from: number)
      guard count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) else { return nil }
    }
  }

  /// Tells pinentry how hard to guess the typed text is; a number below 0 shows a warning.
  private func sendQuality() {
    var percent = 0
    if let typed = reader.takeData() { percent = PassphraseStrength.percent(typed) }
    sendLine("D \(percent < PassphraseStrength.weak ? -percent : percent)")
    sendLine("END")
  }

  /// Whether the last answer was typed twice.
  var isRepeated: Bool { reader.isRepeated }

  /// Sends a command.
  ///
  /// - Returns: false if the command is longer than a line may be. Then nothing is sent, because the cut end of a question may be
  ///   the part that says what the answer allows.
  @discardableResult
  func send(_ command: String) -> Bool {
    guard Assuan.fits(command) else { return false }
    reader.begin()
    // Earlier input belongs to the previous command.
    hasInput = false
    sendLine(command)
    return true
  }

  private func sendLine(_ command: String) {
    var line = Array(command.utf8)
    line.append(0x0a)
    _ = Glibc.send(socket.number, line, line.count, Int32(MSG_NOSIGNAL))
  }

  /// Sends a command, and returns whether it succeeded.
  func run(_ command: String) -> Bool { send(command) && response() == .done }

  /// Takes the data that came with the last answer.
  func takeData() -> SecureBytes? { reader.takeData() }

  /// Ends pinentry, even in the middle of its work.
  ///
  /// The process is killed. If it were asked to end, it would first reset the terminal to the settings that it found, which are
  /// without echo. By then a shell may already use the terminal again.
  func stop() {
    guard process > 0 else { return }
    source = nil
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
    process = 0
    // An answer may have come too late. It is erased too.
    if let rest = try? SecureBytes(count: Assuan.lineLimit) { drain(into: rest) }
    answers.overwritePipe()
  }

  private func drain(into memory: consuming SecureBytes) {
    let number = answers.number
    while SystemCall.read(number, into: memory.mutableBytes) > 0 {}
  }

  private static func spawn(_ commands: Int32, _ answers: Int32, without hidden: Set<String>) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, commands, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, answers, STDOUT_FILENO)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    // The event loop has blocked signals, and the child would inherit that.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var environment: [UnsafeMutablePointer<CChar>?] = []
    var next = environ
    while let entry = next.pointee {
      let name = String(cString: entry).prefix { $0 != "=" }
      if !hidden.contains(String(name)) { environment.append(entry) }
      next += 1
    }
    environment.append(nil)
    let name = strdup("pinentry")
    defer { free(name) }
    var process: pid_t = 0
    return posix_spawnp(&process, "pinentry", &actions, &attributes, [name, nil], environment) == 0 ? process : nil
  }
}
