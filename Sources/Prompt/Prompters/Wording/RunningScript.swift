import Glibc
import LatchkeyControl
import LatchkeyPosix

/// The script that an interpreter runs, according to its arguments. This hint for the person is even weaker than the interpreter's
/// name, because a process can overwrite its arguments.
///
/// A separate process reads the arguments, and this program waits for it at most twice ``limit``. The kernel makes a reader wait
/// while the other process changes its memory. That process could prolong this on purpose, for example by its own file system, but
/// the prompt must still appear.
public enum RunningScript {
  /// The first argument of the separate process.
  private static let command = "script-of"
  /// The longest wait for the answer, on a busy machine.
  private static let limit = Duration.seconds(2)
  /// The longest name, in bytes.
  private static let nameLimit = 255

  /// The same as ``name(of:)``, but in a separate process; nil if the answer takes too long.
  public static func ask(about process: PromptRequest.Interpreter?, until deadline: PromptDeadline) -> String? {
    ask(about: process, until: deadline, by: "/proc/self/exe", atMost: limit)
  }

  /// - Parameter program: the program of the separate process. Tests use another one.
  static func ask(
    about process: PromptRequest.Interpreter?, until deadline: PromptDeadline, by program: String,
    atMost limit: Duration
  ) -> String? {
    guard let process else { return nil }
    let words = [command, String(process.pid), String(process.started), process.program]
    var started: ChildProcess?
    let pipe = try? FileDescriptor.pipeOfOnePage { writing throws(PosixError) in
      started = try ChildProcess(program, words, output: writing)
    }
    guard let answer = pipe, let child = started else { return nil }
    var hasEnded = false
    let source = try? deadline.loop.addIO(fd: child.descriptor, events: .readable) { _ in hasEnded = true }
    let isAnswered = withExtendedLifetime(source) { deadline.wait(atMost: limit) { hasEnded } }
    guard isAnswered else {
      kill(child.pid, SIGKILL)
      // The killed process may not end at once, so this wait has a limit too.
      let hasBeenKilled = withExtendedLifetime(source) { deadline.wait(atMost: Self.limit) { hasEnded } }
      if hasBeenKilled { child.reap() }
      return nil
    }
    child.reap()
    var bytes = [UInt8](repeating: 0, count: nameLimit)
    let count = Glibc.read(answer.number, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  /// Answers ``ask(about:until:by:)`` on standard output, if `arguments` are those of such a separate process.
  public static func answer(to arguments: [String]) -> Bool {
    guard arguments.count == 5, arguments[1] == command, let pid = UInt32(arguments[2]),
      let started = UInt64(arguments[3])
    else { return false }
    let process = PromptRequest.Interpreter(program: arguments[4], pid: pid, started: started)
    let bytes = Array((name(of: process) ?? "").utf8.prefix(nameLimit))
    _ = write(STDOUT_FILENO, bytes, bytes.count)
    return true
  }

  /// The name of a script, module or class; nil if the arguments name none, for example if they contain the code itself.
  ///
  /// - Parameter process: the caller's process from the request; nil if its program is not an interpreter.
  public static func name(of process: PromptRequest.Interpreter?) -> String? {
    name(of: process, proc: "/proc")
  }

  static func name(of process: PromptRequest.Interpreter?, proc: String) -> String? {
    // An open folder of /proc stays that of this process, even if its number is used again.
    guard let process,
      let folder = try? FileDescriptor.open("\(proc)/\(process.pid)", flags: O_RDONLY | O_DIRECTORY),
      let state = read("stat", in: folder, limit: 4096), started(state) == process.started,
      let bytes = read("cmdline", in: folder, limit: 256 << 10)
    else { return nil }
    let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    return process.family.script(in: words.dropFirst())
  }

  private static func read(_ name: String, in folder: borrowing FileDescriptor, limit: Int) -> [UInt8]? {
    guard let file = try? FileDescriptor.open(name, at: folder.number, flags: O_RDONLY | O_NOFOLLOW) else { return nil }
    return try? file.readAll(limit: limit)
  }

  private static func started(_ state: [UInt8]) -> UInt64? {
    guard let close = state.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = state[(close + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 19 ? UInt64(String(decoding: fields[19], as: UTF8.self)) : nil
  }
}

extension PromptRequest.Interpreter.Family {
  /// Options that take code as their argument, so that no script follows.
  private var code: Set<String> {
    switch self {
    case .python: ["-c"]
    case .node: ["-e", "--eval", "-p", "--print", "-pe", "-i", "--interactive"]
    case .perl: ["-e", "-E"]
    case .ruby: ["-e"]
    case .java: []
    case .shell: ["-c"]
    }
  }

  /// Options whose argument is the next word.
  private var taking: Set<String> {
    switch self {
    case .python: ["-W", "-X", "--check-hash-based-pycs"]
    case .node:
      [
        "-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file",
        "--title",
      ]
    case .perl: ["-I"]
    case .ruby: ["-r", "-I", "-C", "-E", "--encoding", "--external-encoding", "--internal-encoding"]
    case .java:
      [
        "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
        "--add-exports", "--add-opens", "--add-reads", "--limit-modules", "--patch-module", "--source",
      ]
    case .shell: ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"]
    }
  }

  /// Options whose next word is the program itself.
  private var naming: Set<String> {
    switch self {
    case .python: ["-m"]
    case .java: ["-jar", "-m", "--module"]
    case .node, .perl, .ruby, .shell: []
    }
  }

  /// - Parameter words: the arguments after the interpreter's own name.
  func script(in words: ArraySlice<String>) -> String? {
    var rest = words
    while let word = rest.popFirst() {
      if naming.contains(word) { return rest.first.flatMap(Self.file) }
      if code.contains(word) || word == "-" { return nil }
      if taking.contains(word) {
        _ = rest.popFirst()
        continue
      }
      if word == "--" { return rest.first.flatMap(Self.file) }
      guard word.hasPrefix("-") || (self == .shell && word.hasPrefix("+")) else { return Self.file(word) }
      // Several letters may follow one dash, as in "-we". The last letter may be one of the options above.
      if self != .java, self != .node, !word.hasPrefix("--"), let last = word.last, word.count > 2 {
        let flags = word.dropFirst().allSatisfy { $0.isLetter }
        if flags, naming.contains("-\(last)") { return rest.first.flatMap(Self.file) }
        if flags, code.contains("-\(last)") { return nil }
      }
    }
    return nil
  }

  /// The last part of a path; nil if nothing is left.
  private static func file(_ word: String) -> String? {
    word.split(separator: "/").last.map(String.init)
  }
}
