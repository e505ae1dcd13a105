import CLatchkeyHelper
import Glibc
import LatchkeyPosix

/// Three processes for one request: the *starter*, which the caller started and collects; the *worker*, which does the work;
/// and between them the *supervisor*.
///
/// The caller waits for the worker, but not for ever. When the caller has waited long enough, it sends `HELPER_GO_ON`. Then the
/// supervisor answers for the worker, the starter ends, and the worker continues without them. The worker is not a child of the
/// caller: login(1) takes the end of any child for the end of its session, and a process that waits for a dead disk does not even
/// die of SIGKILL. If the caller ends without sending that byte, the worker ends too. Starter and supervisor never have a secret or
/// a file. If a worker ends before it has read its request, the supervisor overwrites the request unread.
enum Supervisor {
  /// The time limit for all of a worker's work, in milliseconds. The machine's sleep counts too. On a slow machine, or a busy one,
  /// Argon2id takes a minute.
  static let limit = 300_000
  /// The time in which a worker must read its request, in milliseconds. On a busy machine this takes a while.
  private static let requestLimit = 8000
  /// The longest wait between two looks at the clock, in milliseconds. The wait is short, because it does not count the machine's
  /// sleep.
  private static let turn = 1000
  /// The time in which a worker must erase its memory after SIGTERM, in milliseconds.
  private static let endLimit = 2000
  /// The worker's message that it has the request. Only after that do bytes on the channel belong to the supervisor.
  private static let hasRequest: UInt8 = 255
  /// The worker's message that it must continue even if the caller ends.
  private static let outlives: UInt8 = 254
  /// The worker's message that the caller need not wait for it.
  private static let releases: UInt8 = 253

  /// The worker's messages to its supervisor.
  struct Outlet: ~Copyable {
    fileprivate let pipe: FileDescriptor
    fileprivate let supervisor: pid_t

    /// Whether there still is a supervisor, which ends this process in time.
    var isSupervised: Bool { getppid() == supervisor }

    /// Tells the supervisor that the worker has read the whole request.
    borrowing func tellRequestRead() { tell(Supervisor.hasRequest) }

    /// The work must be done even if the caller ends.
    borrowing func tellOutlives() { tell(Supervisor.outlives) }

    /// Lets the caller continue. Call it when it is certain that another process expects the result.
    var callerRelease: () -> Void {
      let pipe = pipe.number
      return {
        var byte = Supervisor.releases
        _ = write(pipe, &byte, 1)
      }
    }

    /// Sends the answer for the caller.
    borrowing func tell(_ result: DeriveResult) { tell(result.rawValue) }

    private borrowing func tell(_ byte: UInt8) {
      var byte = byte
      _ = write(pipe.number, &byte, 1)
    }
  }

  /// Starts the other processes, and returns in the worker. The process must have one thread, and no secret yet.
  static func start(_ channel: borrowing FileDescriptor) throws(PosixError) -> Outlet {
    signal(SIGCHLD, SIG_DFL)
    signal(SIGPIPE, SIG_IGN)
    let ending = try pipe()
    guard try fork() != 0 else {
      ending.closeReading()
      let result = try pipe()
      let supervisor = getpid()
      let worker = try fork()
      guard worker == 0 else {
        result.closeWriting()
        var watch = Watch(worker: worker, result: result.reading, starter: ending.writing, channel: channel.number)
        watch.run()
      }
      ending.closeWriting()
      result.closeReading()
      try Process.endWithParent()
      // The parent may have ended before the call.
      guard getppid() == supervisor else { _exit(0) }
      return Outlet(pipe: FileDescriptor(owning: result.writing), supervisor: supervisor)
    }
    ending.closeWriting()
    waitForEnding(ending.reading)
  }

  /// Runs the starter, which ends with the status that the supervisor sends.
  private static func waitForEnding(_ pipe: Int32) -> Never {
    var status: Int32 = 0
    var count = 0
    repeat { count = read(pipe, &status, MemoryLayout<Int32>.size) } while count < 0 && errno == EINTR
    guard count == MemoryLayout<Int32>.size else { _exit(70) }
    let number = status & 0x7F
    if number != 0 {
      signal(number, SIG_DFL)
      raise(number)
    }
    _exit(status >> 8 & 0xFF)
  }

  private struct Pipe {
    let reading: Int32
    let writing: Int32

    func closeReading() { close(reading) }
    func closeWriting() { close(writing) }
  }

  private static func pipe() throws(PosixError) -> Pipe {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw PosixError("pipe") }
    return Pipe(reading: ends[0], writing: ends[1])
  }

  private static func fork() throws(PosixError) -> pid_t {
    let child = Glibc.fork()
    guard child >= 0 else { throw PosixError("fork") }
    return child
  }

  /// The loop of the supervisor.
  private struct Watch {
    let worker: pid_t
    let result: Int32
    let starter: Int32
    let channel: Int32
    private var hasRequest = false
    private var mayReadChannel = false
    /// Whether the caller does not wait any more.
    private var isAlone = false
    private var mayOutlive = false
    private var answer: UInt8?

    init(worker: pid_t, result: Int32, starter: Int32, channel: Int32) {
      self.worker = worker
      self.result = result
      self.starter = starter
      self.channel = channel
    }

    mutating func run() -> Never {
      let begun = Process.sinceBoot
      while true {
        let left = begun + (hasRequest ? Supervisor.limit : Supervisor.requestLimit) - Process.sinceBoot
        guard left > 0 else { break }
        var entries = [
          pollfd(fd: result, events: Int16(POLLIN), revents: 0),
          // Of the starter, only its end counts.
          pollfd(fd: isAlone ? -1 : starter, events: 0, revents: 0),
          pollfd(fd: isAlone || !mayReadChannel ? -1 : channel, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&entries, 3, Int32(min(left, Supervisor.turn))) >= 0 || errno == EINTR else { break }
        if entries[0].revents != 0, !readResult() { finish() }
        if isAlone { continue }
        if entries[2].revents != 0 { readChannel() }
        // The starter has ended. If the caller sent `HELPER_GO_ON` before, the worker continues.
        if !isAlone, entries[1].revents != 0 {
          if !mayReadChannel { waitForRequest() }
          if mayReadChannel { readChannel() }
          if !isAlone, !mayOutlive { endWorker() }
          isAlone = true
        }
      }
      endWorker()
    }

    /// - Returns: whether the worker may send more.
    private mutating func readResult() -> Bool {
      var byte: UInt8 = 0
      let count = read(result, &byte, 1)
      if count < 0 { return errno == EINTR }
      guard count == 1 else { return false }
      switch byte {
      case Supervisor.hasRequest: (hasRequest, mayReadChannel) = (true, true)
      case Supervisor.outlives: mayOutlive = true
      case Supervisor.releases: if !isAlone { release(.unlocking) }
      default:
        answer = byte
        return false
      }
      return true
    }

    /// Waits until the worker has read its request. On a busy machine the caller may give up earlier.
    private mutating func waitForRequest() {
      var entry = pollfd(fd: result, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, Int32(Supervisor.endLimit)) > 0 else { return }
      if !readResult() { finish() }
    }

    private mutating func readChannel() {
      var byte: UInt8 = 0
      let count = recv(channel, &byte, 1, Int32(MSG_DONTWAIT))
      if count == 1, byte == UInt8(HELPER_GO_ON) {
        release(.goesOn)
      } else if count >= 0 || (errno != EAGAIN && errno != EINTR) {
        // The caller sends nothing more, and waits until the work is done.
        mayReadChannel = false
      }
    }

    /// Lets the caller continue, and the starter end.
    private mutating func release(_ result: DeriveResult) {
      isAlone = true
      send(result)
      tellStarter(0)
      close(starter)
      close(channel)
    }

    private func send(_ result: DeriveResult) { send(byte: result.rawValue) }

    private func send(byte: UInt8) {
      var byte = byte
      _ = Glibc.send(channel, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    private func tellStarter(_ status: Int32) {
      var status = status
      _ = write(starter, &status, MemoryLayout<Int32>.size)
    }

    /// Ends the supervisor, after the worker has answered or has ended without an answer.
    private mutating func finish() -> Never {
      // The caller gets the answer before the worker's end.
      if !isAlone, let answer { send(byte: answer) }
      let status = collect(until: Process.now + Supervisor.endLimit)
      if status == nil { kill(worker, SIGKILL) }
      eraseUnread()
      if !isAlone { tellStarter(answer == nil ? status ?? SIGKILL : 0) }
      if isAlone, let answer { LateResult.log(answer) }
      _exit(0)
    }

    /// Ends the worker, which erases its memory first.
    private func endWorker() -> Never {
      kill(worker, SIGTERM)
      if collect(until: Process.now + Supervisor.endLimit) == nil { kill(worker, SIGKILL) }
      eraseUnread()
      if !isAlone { tellStarter(SIGALRM) }
      _exit(0)
    }

    /// Erases the request if the worker has ended before it read the request.
    private func eraseUnread() {
      if !hasRequest { RequestMemory.eraseUnread(in: channel) }
    }

    /// How the worker ended; nil if the worker did not end in time.
    private func collect(until deadline: Int) -> Int32? {
      var status: Int32 = 0
      while true {
        let found = waitpid(worker, &status, WNOHANG)
        if found == worker { return status }
        guard found == 0 || errno == EINTR, Process.now < deadline else { return nil }
        usleep(2000)
      }
    }
  }
}
