import CLatchkeyLinux
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium

/// The environment of a command that gets secrets, and the command's run.
struct CommandEnvironment: ~Copyable {
  /// Variables that hold the path of a file.
  private var paths: [String: String] = [:]
  /// Variables with a secret, in the form that the kernel takes: NAME=VALUE and a NUL.
  private var secrets: [SecretVariable] = []
  private var files: [SecretFile] = []
  /// The names of all that is added.
  private var names: Set<String> = []
  /// The signals that this process held before ``hold()``, as the command does.
  private var formerlyHeld = sigset_t()
  private let runtime: String

  private final class SecretVariable {
    private var text: SecureBytes
    init(_ text: consuming SecureBytes) { self.text = text }

    /// The file's path. The file exists as long as this value.
    var place: UnsafeMutablePointer<CChar>? {
      text.withUnsafeMutableBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
    }
  }

  private final class SecretFile {
    let folder: PrivateFolder
    init(_ folder: consuming PrivateFolder) { self.folder = folder }
  }

  /// The command gets this process's variables, byte by byte: they may be in any encoding.
  init(runtime: String) { self.runtime = runtime }

  /// Adds a secret.
  mutating func add(_ secret: Secret, _ request: RunRequest) throws {
    if request.isFile {
      // A signal that came before the command runs would leave the file behind.
      if files.isEmpty { hold() }
      let folder = try PrivateFolder(in: runtime, for: "run", file: request.variable)
      try secret.withBytes { try folder.write($0) }
      names.insert(request.variable)
      paths[request.variable] = folder.file
      files.append(SecretFile(folder))
      return
    }
    let name = Array("\(request.variable)=".utf8)
    var text = try SecureBytes(count: name.count + secret.count + 1)
    text.write(name.span.bytes, at: 0)
    secret.withBytes { text.write($0, at: name.count) }
    guard !text.bytes.extracting(droppingLast: 1).contains(0) else {
      throw Failure.declined(
        translated("the secret for \(request.variable) has a zero byte, which no variable can have. Use --file."))
    }
    names.insert(request.variable)
    secrets.append(SecretVariable(text))
  }

  /// Runs a command to its end, and then ends this program in the same way. Without files, the command replaces this program.
  consuming func run(_ command: [String]) throws {
    // The arguments come directly from the kernel, because ArgumentParser changes arguments that are not UTF-8.
    let given = CommandLine.unsafeArgv
    var words = (Int(CommandLine.argc) - command.count..<Int(CommandLine.argc)).map { given[$0] } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = []
    var next = environ
    while let entry = next.pointee {
      let name = String(cString: entry).prefix { $0 != "=" }
      if !names.contains(String(name)) { variables.append(entry) }
      next += 1
    }
    variables += paths.map { strdup("\($0.key)=\($0.value)") }
    for secret in secrets { variables.append(secret.place) }
    variables.append(nil)
    guard files.isEmpty else {
      endIfInterrupted()
      let child = try Self.spawn(command[0], &words, &variables, holding: &formerlyHeld)
      secrets = []
      let end = Self.wait(for: child)
      files = []
      if end & 0x7f != 0 { Self.end(by: end & 0x7f) }
      exit(end >> 8 & 0xff)
    }
    execvpe(words[0], &words, &variables)
    throw Self.cannotRun(command[0], errno)
  }

  /// If a signal came before the command could run, removes the files and ends by that signal.
  private mutating func endIfInterrupted() {
    var pending = sigset_t()
    sigpending(&pending)
    guard let number = Self.ending.first(where: { sigismember(&pending, $0) == 1 && !Self.isIgnored($0) }) else {
      return
    }
    files = []
    secrets = []
    Self.end(by: number)
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private static func cannotRun(_ name: String, _ code: Int32) -> Failure {
    .declined(translated("the command \(name) cannot be run: \(String(cString: strerror(code)))."))
  }

  /// The signals that end a program.
  private static let ending = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]
  /// The signals that pass to the command.
  private static let passed = ending + [SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT]

  /// From now on, signals wait for ``wait(for:)``.
  private mutating func hold() {
    var waited = sigset_t()
    sigemptyset(&waited)
    for number in Self.passed + [SIGCHLD] { sigaddset(&waited, number) }
    sigprocmask(SIG_BLOCK, &waited, &formerlyHeld)
    // A parent may have ignored the signal. With an ignored signal, the kernel would keep no end of the command.
    signal(SIGCHLD, SIG_DFL)
  }

  private static func spawn(
    _ name: String, _ words: inout [UnsafeMutablePointer<CChar>?], _ variables: inout [UnsafeMutablePointer<CChar>?],
    holding held: inout sigset_t
  ) throws -> pid_t {
    var settings = posix_spawnattr_t()
    posix_spawnattr_init(&settings)
    defer { posix_spawnattr_destroy(&settings) }
    posix_spawnattr_setsigmask(&settings, &held)
    posix_spawnattr_setflags(&settings, Int16(POSIX_SPAWN_SETSIGMASK))
    var child: pid_t = 0
    guard let program = words[0] else { throw cannotRun(name, ENOENT) }
    let status = posix_spawnp(&child, program, nil, &settings, &words, &variables)
    guard status == 0 else { throw cannotRun(name, status) }
    return child
  }

  /// Passes signals on until the command has ended.
  ///
  /// - Returns: the status of the ended command, in the form of waitpid(2).
  private static func wait(for child: pid_t) -> Int32 {
    var waited = sigset_t()
    sigemptyset(&waited)
    for number in passed + [SIGCHLD] { sigaddset(&waited, number) }
    while true {
      var status: Int32 = 0
      let found = waitpid(child, &status, WNOHANG | WUNTRACED)
      if found == child {
        guard status & 0xff == 0x7f else { return status }
        // The command was stopped at the terminal, so this program stops as well.
        kill(getpid(), SIGSTOP)
        kill(child, SIGCONT)
        continue
      }
      // The outcome of the command is lost.
      if found < 0, errno == ECHILD { return 1 << 8 }
      var information = siginfo_t()
      let number = sigwaitinfo(&waited, &information)
      // The terminal sends its signals to the command as well; only a signal from a process is for this program alone.
      if number > 0, number != SIGCHLD, information.si_code <= 0 { kill(child, number) }
    }
  }

  private static func end(by number: Int32) -> Never {
    signal(number, SIG_DFL)
    var one = sigset_t()
    sigemptyset(&one)
    sigaddset(&one, number)
    sigprocmask(SIG_UNBLOCK, &one, nil)
    raise(number)
    exit(128 + number)
  }
}
