import Foundation
import Glibc
import LatchkeySystemd

/// A message bus for one test: a dbus-daemon that ends with this object.
public final class PrivateBus {
  /// The D-Bus address to connect to.
  public let address: String

  private var shell: pid_t = 0
  private var leash: Int32 = -1
  private let folder: URL

  /// Starts the bus. `matchRules`, if given, limits the match rules of each connection.
  public init(matchRules: Int? = nil) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "bus-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    address = "unix:path=\(folder.path)/bus"
    try restart(matchRules: matchRules)
  }

  /// Starts the bus at the same address, after `stop()`.
  public func restart(matchRules: Int? = nil) throws {
    let limit = matchRules.map { "<limit name=\"max_match_rules_per_connection\">\($0)</limit>" } ?? ""
    try """
    <busconfig>
      <include>/usr/share/dbus-1/session.conf</include>
      \(limit)
    </busconfig>
    """.write(to: folder.appending(path: "bus.conf"), atomically: true, encoding: .utf8)
    let output = try Self.pipe()
    let leash = try Self.pipe()
    // The shell ends the daemon when its input has a line or ends, even if this process crashes.
    shell = try Self.spawn(
      "sh",
      [
        "-c",
        "dbus-daemon --config-file=\"$1\" --nofork --nosyslog --print-address --address=\"$0\" & read _; kill -KILL $!; wait",
        address, folder.appending(path: "bus.conf").path,
      ],
      input: leash.reading, output: output.writing)
    close(leash.reading)
    close(output.writing)
    self.leash = leash.writing
    // The bus prints its address once the socket exists.
    var byte: UInt8 = 0
    guard read(output.reading, &byte, 1) == 1 else { throw PrivateBusError.noDaemon(0) }
    close(output.reading)
  }

  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw PrivateBusError.noDaemon(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Runs a program to its end and serves `loop` meanwhile. Returns the program's status.
  public func run(_ loop: EventLoop, _ program: String, _ arguments: [String]) throws -> Int32 {
    let child = try Self.spawn(program, arguments, input: STDIN_FILENO, output: STDERR_FILENO)
    var status: Int32 = -1
    try loop.run(until: program) { waitpid(child, &status, WNOHANG) == child }
    return status
  }

  /// The function does without Foundation's Process. A child of a test runner's thread inherits the thread's blocked signals, such
  /// as SIGTERM, and waitUntilExit() might never return.
  private static func spawn(_ program: String, _ arguments: [String], input: Int32, output: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var pointers = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    var child: pid_t = 0
    let result = posix_spawnp(&child, program, &actions, &attributes, &pointers, &environment)
    guard result == 0 else { throw PrivateBusError.noDaemon(result) }
    return child
  }

  /// Ends the bus, which disconnects every connection.
  public func stop() {
    guard shell > 0 else { return }
    // Closing the input is not enough, because a child that another thread started meanwhile may hold the other end.
    var line = UInt8(ascii: "\n")
    write(leash, &line, 1)
    close(leash)
    waitpid(shell, nil, 0)
    shell = 0
    unlink("\(folder.path)/bus")
  }

  /// A new connection, served by `loop`.
  public func connect(_ loop: EventLoop) throws -> Bus { try Bus(.address(address), loop: loop) }
}

/// The reason why a test could not go on.
public enum PrivateBusError: Error {
  case noDaemon(Int32)
  case timeout(String)
}

extension EventLoop {
  /// Serves the loop until `condition` holds. Fails the test after `limit`.
  public func run(
    until what: String, within limit: Duration = .seconds(10), _ condition: () -> Bool
  ) throws {
    let begin = ContinuousClock.now
    while !condition() {
      let taken = begin.duration(to: .now)
      guard taken < limit || taken < Pace.limit(limit) else { throw PrivateBusError.timeout(what) }
      try runOnce(timeout: .milliseconds(50))
    }
  }

  /// Serves the loop for a while, to show that something does not happen.
  public func run(for time: Duration) throws {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end { try runOnce(timeout: .milliseconds(10)) }
  }
}

extension Bus {
  /// Calls a method and serves the loop until the reply comes.
  public func call(
    _ loop: EventLoop, _ destination: String, _ path: String, _ interface: String, _ member: String,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in }
  ) throws -> Message {
    var outcome: Result<Message, BusError>?
    try callAsync(
      destination: destination, path: path, interface: interface, member: member, timeout: Pace.limit(.seconds(5)),
      build: build
    ) { outcome = $0 }
    try loop.run(until: "reply to \(member)") { outcome != nil }
    guard let outcome else { throw PrivateBusError.timeout(member) }
    return try outcome.get()
  }

  /// Serves the loop until the bus has answered Hello. Returns the connection's name.
  public func name(_ loop: EventLoop) throws -> String {
    try loop.run(until: "Hello") { uniqueName != nil }
    return uniqueName ?? ""
  }
}
