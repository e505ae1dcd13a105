import Glibc
import LatchkeyPosix
import LatchkeySodium

/// A run of `latchkey-security-key` for one question. The program ends with this object.
public final class RunningQuestion {
  /// The number of times that the key has begun to wait for a touch.
  public private(set) var touches = 0
  /// Whether the program has nothing more to tell.
  public private(set) var isOver = false

  private var memory: SharedMemory
  private let events: FileDescriptor
  private let child: ChildProcess

  /// If nobody wants its answer, the program may take this long to end, in milliseconds. It needs the time to erase the PIN.
  private static let endLimit: Int32 = 1000

  init(_ path: String, _ question: borrowing SecurityKeyQuestion) throws {
    memory = try SharedMemory()
    memory.write(try question.encoded())
    let (own, theirs) = try FileDescriptor.connectedPair()
    events = FileDescriptor(owning: own)
    let output = FileDescriptor(owning: theirs)
    child = try ChildProcess(path, [], input: memory.number, output: output.number)
  }

  deinit {
    guard !isOver else { return }
    child.send(SIGTERM)
    if !waitForEnd(Self.endLimit) { child.send(SIGKILL) }
    _ = waitForEnd(-1)
    child.reap()
  }

  /// A descriptor that is readable when there is something to ``receive()``.
  public var descriptor: Int32 { events.number }

  /// Waits for the program's next message, and takes it. It says that the key waits for a touch, or that the answer is there.
  public func receive() {
    var byte: UInt8 = 0
    var count = read(events.number, &byte, 1)
    while count < 0 && errno == EINTR { count = read(events.number, &byte, 1) }
    if count != 1 { isOver = true } else if byte == SecurityKeyProgram.touch { touches += 1 }
  }

  /// Takes the answer, when ``isOver`` is true.
  public func takeAnswer() throws -> SecurityKeyAnswer {
    _ = waitForEnd(-1)
    guard child.reap() == 0, let answer = SecurityKeyAnswer(taking: &memory) else {
      return try SecurityKeyAnswer(.failed)
    }
    return answer
  }

  private func waitForEnd(_ limit: Int32) -> Bool {
    var entry = pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0)
    var count = poll(&entry, 1, limit)
    while count < 0 && errno == EINTR { count = poll(&entry, 1, limit) }
    return count == 1
  }
}
