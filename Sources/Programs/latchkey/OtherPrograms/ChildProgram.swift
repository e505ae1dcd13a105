import CLatchkeyLinux
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// Another program that reads files for which we have no library: GPG, KeePassXC, gzip. Secrets go by pipes only, never by
/// arguments, the environment or files. Each pipe has one page, which is overwritten when the program has ended.
struct ChildProgram {
  /// The program's name, for the search path.
  let name: String
  let arguments: [String]
  /// The program's limits; nil for the usual limits of a program.
  var limits: Limits?

  /// Limits for a program that expands a foreign file and has no limits of its own.
  struct Limits {
    /// Bytes of address space.
    let memory: UInt64
    /// Seconds of processor time.
    let time: UInt64
  }

  /// The program's output and end.
  struct Outcome: ~Copyable {
    let output: SecureBytes
    let isDone: Bool
    /// The signal that ended the program, for example because of a limit; 0 without a signal.
    let signal: Int32
    /// The lines of the program's standard error.
    let complaints: [String]

    /// The same outcome, with another name for a file in the text for a person.
    consuming func naming(_ file: String, for name: String) -> Outcome {
      let complaints = complaints.map { $0.replacing(text: name, with: file) }
      return Outcome(output: output, isDone: isDone, signal: signal, complaints: complaints)
    }

    /// The last line of the program's standard error, for a person.
    var message: String { complaints.last ?? "" }
  }

  /// The most bytes that the program may write.
  private static let limit = 256 << 20

  /// Runs the program to its end.
  ///
  /// - Parameter input: the program's standard input.
  /// - Throws: a failure if there is no such program, or no memory for its output.
  func run(_ input: borrowing SecureBytes) throws -> Outcome { try run(input, document: try SecureBytes(count: 0)) }

  /// The path by which a program reads its document.
  static let documentPath = "/dev/fd/3"

  /// Runs the program to its end.
  ///
  /// - Parameters:
  ///   - input: the program's standard input.
  ///   - document: the content of ``documentPath``, a pipe; empty without a document.
  func run(_ input: borrowing SecureBytes, document: borrowing SecureBytes) throws -> Outcome {
    var errors: [Int32] = [-1, -1]
    var (sender, written, writer): (Int32, Int32, Int32) = (-1, -1, -1)
    defer { for end in [sender, written, writer] where end >= 0 { Glibc.close(end) } }
    // The pipes' reading ends stay here until the end, so that a write to a program that has ended raises no signal.
    let given = try pipe(writing: &sender)
    let output = try pipe(writing: &written)
    let handing = try pipe(writing: &writer)
    defer {
      given.erasePipe()
      output.erasePipe()
      handing.erasePipe()
    }
    // The program waits for its input.
    for end in [given.number, handing.number] { _ = fcntl(end, F_SETFL, 0) }
    for end in [sender, writer] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    guard Glibc.pipe(&errors) == 0 else { throw cannotStart(errno) }
    let complaint = FileDescriptor(owning: errors[0])
    let complained = FileDescriptor(owning: errors[1])
    let child = try spawn(
      given.number, written, complained.number, document: document.count > 0 ? handing.number : nil)
    // This process closes the child's ends of the pipes here. Otherwise its own ends would never report the end of the child's
    // output.
    close(&written)
    Glibc.close(complained.release())
    var reader = Reader()
    // The limits are set before the program gets its input, so that they hold from the beginning.
    let isLimited = limits.map { limit(child, to: $0) } ?? true
    defer { while waitpid(child, nil, WNOHANG) == 0 && kill(child, SIGKILL) == 0 {} }
    guard isLimited else { throw cannotStart(errno) }
    var (sent, handed) = (0, 0)
    var isReading = [true, true]
    if input.count == 0 { close(&sender) }
    if document.count == 0 { close(&writer) }
    while isReading.contains(true) {
      var waiting = [
        pollfd(fd: isReading[0] ? output.number : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isReading[1] ? complaint.number : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: sender, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: writer, events: Int16(POLLOUT), revents: 0),
      ]
      // Does not wait for ever: a signal that is only noted may have come just before.
      guard poll(&waiting, 4, 1000) >= 0 || errno == EINTR else { throw cannotStart(errno) }
      if Interruption.hasArrived { kill(child, SIGKILL) }
      if waiting[2].revents != 0 { hand(input, &sent, to: &sender) }
      if waiting[3].revents != 0 { hand(document, &handed, to: &writer) }
      if waiting[0].revents != 0 { isReading[0] = try reader.read(output.number, limit: Self.limit) }
      if waiting[1].revents != 0 { isReading[1] = reader.complain(complaint.number) }
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    let complaints = reader.complaints
    return Outcome(output: try reader.finish(), isDone: status == 0, signal: status & 0x7f, complaints: complaints)
  }

  /// Makes a pipe of one page.
  ///
  /// - Returns: the pipe's reading end.
  private func pipe(writing end: inout Int32) throws -> FileDescriptor {
    var kept: Int32 = -1
    defer { end = kept }
    do throws(PosixError) {
      return try FileDescriptor.pipeOfOnePage { writing throws(PosixError) in
        kept = fcntl(writing, F_DUPFD_CLOEXEC, 3)
        guard kept >= 0 else { throw PosixError("dup") }
      }
    } catch { throw cannotStart(error.code) }
  }

  /// Writes as much as there is room for, and closes the pipe behind the last byte.
  private func hand(_ bytes: borrowing SecureBytes, _ count: inout Int, to end: inout Int32) {
    let written = SystemCall.write(end, bytes.bytes.extracting(droppingFirst: count))
    if written > 0 { count += written }
    if count == bytes.count || written < 0 && errno != EAGAIN && errno != EINTR { close(&end) }
  }

  private func close(_ end: inout Int32) {
    Glibc.close(end)
    end = -1
  }

  /// - Returns: whether the limits hold, or the child has ended already.
  private func limit(_ child: pid_t, to limits: Limits) -> Bool {
    let resources = [(RLIMIT_AS, limits.memory), (RLIMIT_CPU, limits.time)]
    return resources.allSatisfy { linux_lower_limit(child, Int32($0.rawValue), $1) == 0 || errno == ESRCH }
  }

  private func cannotStart(_ code: Int32) -> Failure {
    if code == ENOENT {
      return .declined(translated("the program \(name) is not installed. Install it, then run this again."))
    }
    return .declined(translated("the program \(name) cannot be run: \(String(cString: strerror(code)))."))
  }

  private func spawn(_ input: Int32, _ output: Int32, _ errors: Int32, document: Int32?) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, errors, 2)
    if let document { posix_spawn_file_actions_adddup2(&actions, document, 3) }
    posix_spawn_file_actions_addclosefrom_np(&actions, document == nil ? 3 : 4)
    // The environment tells GPG's agent this session's terminal for its questions.
    let variables = LatchkeyPosix.Process.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
    var settings = posix_spawnattr_t()
    posix_spawnattr_init(&settings)
    defer { posix_spawnattr_destroy(&settings) }
    var usual = sigset_t()
    sigemptyset(&usual)
    sigaddset(&usual, SIGPIPE)
    posix_spawnattr_setsigdefault(&settings, &usual)
    posix_spawnattr_setflags(&settings, Int16(POSIX_SPAWN_SETSIGDEF))
    var words = ([name] + arguments).map { strdup($0) } + [nil]
    var environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + environment { free(word) } }
    var child: pid_t = 0
    let status = posix_spawnp(&child, name, &actions, &settings, &words, &environment)
    guard status == 0 else { throw cannotStart(status) }
    return child
  }

  /// Takes the program's output.
  private struct Reader: ~Copyable {
    private var output: GrowingSecret?
    private var complaint: [UInt8] = []

    var complaints: [String] {
      String(decoding: complaint, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// - Returns: whether more may come.
    mutating func read(_ descriptor: Int32, limit: Int) throws -> Bool {
      var room = if let output = output.take() { output } else { try GrowingSecret() }
      guard !room.isFull || room.count < limit else {
        throw Failure.file(translated("what the other program wrote is larger than a vault takes."))
      }
      let taken = try room.read(from: descriptor)
      let isEnd = taken == 0 || taken < 0 && errno != EINTR && errno != EAGAIN
      output = consume room
      return !isEnd
    }

    mutating func complain(_ descriptor: Int32) -> Bool {
      var part = [UInt8](repeating: 0, count: 4096)
      let taken = Glibc.read(descriptor, &part, part.count)
      if taken > 0 { complaint = (complaint + part[..<taken]).suffix(4096) }
      return taken > 0 || taken < 0 && errno == EINTR
    }

    mutating func finish() throws -> SecureBytes {
      guard let output = output.take() else { return try SecureBytes(count: 0) }
      return try output.finish()
    }
  }
}
