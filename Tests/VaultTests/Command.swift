import Glibc
import Synchronization

/// A program that a test starts. It gets its standard input at once, and the test reads its output as it comes.
final class Command {
  private let process: pid_t
  private let output: Int32
  private var pending: [UInt8] = []
  private var status: Int32?

  /// The program of this package that tests kill.
  static let crashing: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let path = String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // The program is next to the test bundle, wherever the test runner is.
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? path
    let folder = bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    return folder + "/LatchkeyVaultCrash"
  }()

  init(_ program: String, _ arguments: [String], input: [UInt8] = [], environment: [String] = []) throws {
    // A child that is killed early may end before it has read its input. The broken pipe must not end the tests.
    signal(SIGPIPE, SIG_IGN)
    let started: (process: pid_t, toChild: Int32, fromChild: Int32)? = Command.starting.withLock { _ in
      Command.start(program, arguments, environment)
    }
    guard let started else { throw Failed.start }
    process = started.process
    output = started.fromChild
    _ = write(started.toChild, input, input.count)
    close(started.toChild)
  }

  /// The lock is held from the creation of the pipes to the start of the program, so that no other child inherits the pipes.
  private static let starting = Mutex(())

  private static func start(
    _ program: String, _ arguments: [String], _ environment: [String]
  ) -> (process: pid_t, toChild: Int32, fromChild: Int32)? {
    var toChild: [Int32] = [0, 0]
    var fromChild: [Int32] = [0, 0]
    guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { return nil }
    for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = (["PATH=/usr/bin:/bin"] + environment).map { strdup($0) } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, program, &actions, nil, &argv, &envp)
    close(toChild[0])
    close(fromChild[1])
    guard result == 0 else {
      close(toChild[1])
      close(fromChild[0])
      return nil
    }
    return (process, toChild[1], fromChild[0])
  }

  enum Failed: Error { case start }

  deinit {
    kill()
    close(output)
  }

  /// The next line of the program's output; nil at its end.
  func line() -> String? {
    while true {
      if let end = pending.firstIndex(of: 10) {
        defer { pending.removeSubrange(...end) }
        return String(decoding: pending[..<end], as: UTF8.self)
      }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(output, &buffer, buffer.count)
      if count <= 0 { return nil }
      pending += buffer.prefix(count)
    }
  }

  /// All lines up to the end of the output.
  func lines() -> [String] {
    var all: [String] = []
    while let next = line() { all.append(next) }
    return all
  }

  func kill() {
    guard status == nil else { return }
    Glibc.kill(process, SIGKILL)
    wait()
  }

  /// Waits for the program to end.
  ///
  /// - Returns: the exit status, or the negative number of the signal that ended it.
  @discardableResult
  func wait() -> Int32 {
    if let status { return status }
    var raw: Int32 = 0
    while waitpid(process, &raw, 0) < 0 && errno == EINTR {}
    let result = raw & 0x7f == 0 ? (raw >> 8) & 0xff : -(raw & 0x7f)
    status = result
    return result
  }

  /// Runs a program until it ends.
  static func run(_ program: String, _ arguments: [String]) -> Int32 {
    guard let command = try? Command(program, arguments) else { return -1 }
    _ = command.lines()
    return command.wait()
  }
}
