import Glibc
import LatchkeyPosix
import LatchkeySodium

/// `latchkey-security-key`, started for one question.
public struct SecurityKeyProgram {
  /// The program's name.
  public static let name = "latchkey-security-key"
  /// The byte on the pipe that says that the key waits for a touch.
  static let touch: UInt8 = 1

  private let path: String

  /// The program at a path.
  public init(_ path: String) { self.path = path }

  /// The installed program, relative to a program in `folder`, or the one that was built beside that; nil without one.
  public static func find(beside folder: String) -> SecurityKeyProgram? {
    let places = [folder + "/../libexec/" + name, folder + "/" + name]
    return places.first { access($0, X_OK) == 0 }.map { SecurityKeyProgram($0) }
  }

  /// Runs it for one question, and waits for its end.
  ///
  /// - Parameter onTouch: called each time that the key begins to wait for a touch.
  /// - Throws: an error if it cannot be started.
  public func ask(
    _ question: borrowing SecurityKeyQuestion, onTouch: () -> Void = {}
  ) throws -> SecurityKeyAnswer {
    var memory = try SharedMemory()
    memory.write(try question.encoded())
    let events = try Pipe()
    let child = try ChildProcess(path, [], input: memory.number, output: events.writing.number)
    let reading = events.closingWriting()
    var byte: UInt8 = 0
    while true {
      let count = read(reading.number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { break }
      if byte == SecurityKeyProgram.touch { onTouch() }
    }
    var entry = pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&entry, 1, -1) < 0 && errno == EINTR {}
    guard child.reap() == 0, let answer = SecurityKeyAnswer(taking: &memory) else {
      return try SecurityKeyAnswer(.failed)
    }
    return answer
  }

  /// Says on standard output that the key waits for a touch.
  public static func tellTouch() {
    let byte = touch
    _ = withUnsafePointer(to: byte) { write(STDOUT_FILENO, $0, 1) }
  }
}

/// A pipe for bytes that are no secret.
private struct Pipe: ~Copyable {
  let reading: FileDescriptor
  let writing: FileDescriptor

  init() throws(PosixError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw PosixError("pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    reading = FileDescriptor(owning: ends[0])
    writing = FileDescriptor(owning: ends[1])
  }

  /// Closes the writing end.
  consuming func closingWriting() -> FileDescriptor { reading }
}
