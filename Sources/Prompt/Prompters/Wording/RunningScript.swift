import Glibc
import LatchkeyControl
import LatchkeyPosix

/// The program that an interpreter runs, by its arguments. A hint for the person that is even weaker than the interpreter's own
/// name: a process can write any arguments over its own.
///
/// A process of its own reads them, which nobody waits for longer than twice ``limit``. The kernel lets a reader wait while the
/// process changes its memory. A program can hold that up, as by a file system of its own, and the person is to be asked nevertheless.
public enum RunningScript {
  /// The first argument of that process.
  private static let command = "script-of"
  /// How long an answer may take on a busy machine.
  private static let limit = Duration.seconds(2)
  /// The longest name, in bytes.
  private static let nameLimit = 255

  /// The same as ``name(of:)``, by another process of this program; nil if the answer takes too long.
  public static func ask(about process: PromptRequest.Interpreter?, until deadline: PromptDeadline) -> String? {
    ask(about: process, until: deadline, by: "/proc/self/exe", atMost: limit)
  }

  /// - Parameter program: another program in the place of this one, for tests.
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
      // Its end may not come: nobody waits longer for that either.
      let hasBeenKilled = withExtendedLifetime(source) { deadline.wait(atMost: Self.limit) { hasEnded } }
      if hasBeenKilled { child.reap() }
      return nil
    }
    child.reap()
    var bytes = [UInt8](repeating: 0, count: nameLimit)
    let count = Glibc.read(answer.number, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  /// Answers ``ask(about:until:by:)`` on standard output, if these are the arguments of a program that was started for that.
  public static func answer(to arguments: [String]) -> Bool {
    guard arguments.count == 5, arguments[1] == command, let pid = UInt32(arguments[2]),
      let started = UInt64(arguments[3])
    else { return false }
    let process = PromptRequest.Interpreter(program: arguments[4], pid: pid, started: started)
    let bytes = Array((name(of: process) ?? "").utf8.prefix(nameLimit))
    _ = write(STDOUT_FILENO, bytes, bytes.count)
    return true
  }

  /// The name of a script, module or class; nil if no arguments tell, as with a command line in them.
  ///
  /// - Parameter process: from the request; nil if its program is not an interpreter.
  public static func name(of process: PromptRequest.Interpreter?) -> String? {
    name(of: process, proc: "/proc")
  }

  static func name(of process: PromptRequest.Interpreter?, proc: String) -> String? {
    // The folder, once open, cannot become another process's.
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
  /// Options that take code as their argument. No script follows them.
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

  /// Options that take the next word.
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
      // Letters may stand together, as in "-we". The last letter may be one of those above.
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
