import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// A command, mostly of `latchkey`, that runs beside the window. A thread waits for the command's end, so the window never waits.
final class ChildCommand {
  /// The result of a command that has ended.
  struct Outcome: Sendable {
    /// The exit status; -1 if a signal ended the program, or if it could not be started.
    let status: Int32
    fileprivate let output: [UInt8]
    /// The output in locked memory; nil unless the caller asked for locked memory.
    let secret: HeldOutput?
    /// The text that the command wrote to standard error.
    let errors: String

    /// The output as JSON; nil if the output is not JSON.
    var json: JSONValue? { try? JSONValue(parsing: output) }

    /// The message for a person, without the name of the command.
    var message: String {
      let line = ShownText.sentence(errors)
      for start in ["latchkey: ", "Error: "] where line.hasPrefix(start) { return String(line.dropFirst(start.count)) }
      return line
    }

    var told: String { message.isEmpty ? translated("It was not done.") : message }
  }

  /// The process and the thread that waits for it. Both live until the process ends, even if the page has dropped the command:
  /// freeing the thread's object would block until the thread ends.
  private final class Running {
    var child: ChildProcess?
    /// The pipe with the command's input, which is a secret.
    var given: FileDescriptor?
    var reader: SideThread?
  }

  private let running = Running()

  /// No more bytes of an output than this are kept.
  private static let limit = 64 << 20

  /// Starts the command.
  ///
  /// - Parameters:
  ///   - program: the path of a program other than `latchkey`; nil for `latchkey`.
  ///   - words: the arguments of the program.
  ///   - input: the standard input, which only a pipe ever holds.
  ///   - secret: receives the output, in locked memory; nil for an output without secrets.
  ///   - then: called on the window's thread with the result.
  init(
    program: String? = nil, _ words: [String], input: consuming SecureBytes? = nil, secret: HeldOutput? = nil,
    then: @escaping (Outcome) -> Void
  ) {
    let program = program ?? Process.folder + "/latchkey"
    let ended = OnMainThread<Outcome> { [running] outcome in
      if let given = running.given.take() { given.erasePipe() }
      // The thread has nothing left to do, so freeing its object does not block.
      running.reader = nil
      running.child = nil
      then(outcome)
    }
    guard let outputs = WakingPipe(), let errors = WakingPipe() else {
      ended(Outcome(status: -1, output: [], secret: nil, errors: String(cString: strerror(errno))))
      return
    }
    do throws(PosixError) {
      let child: ChildProcess
      if let input {
        let given = try FileDescriptor.pipeOfOnePage { end in
          _ = SystemCall.write(end, input.bytes.extracting(first: min(input.count, 4096)))
        }
        // The command's reads must block, as they do at a terminal.
        _ = fcntl(given.number, F_SETFL, 0)
        child = try ChildProcess(
          program, words, input: given.number, output: outputs.writing, errors: errors.writing)
        running.given = consume given
      } else {
        child = try ChildProcess(program, words, output: outputs.writing, errors: errors.writing)
      }
      running.child = child
    } catch { ended(Outcome(status: -1, output: [], secret: nil, errors: "\(error)")) }
    close(outputs.writing)
    close(errors.writing)
    guard let started = running.child else {
      close(outputs.reading)
      close(errors.reading)
      return
    }
    let child = Handed(value: started)
    let (output, complaints) = (outputs.reading, errors.reading)
    running.reader = SideThread { _ in
      let (all, words) = ChildCommand.read(output, complaints, until: child.value.descriptor, into: secret)
      // The kernel keeps the last page of a pipe, and the secret is in that page.
      let end = FileDescriptor(owning: output)
      if secret != nil { end.erasePipe() }
      close(complaints)
      var ending = pollfd(fd: child.value.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&ending, 1, -1)
      let status = child.value.reap()
      ended(Outcome(status: status, output: all, secret: secret, errors: String(decoding: words, as: UTF8.self)))
    }
  }

  /// Reads both pipes until they end or the command ends. A program that the command started may keep the pipes open.
  private static func read(
    _ first: Int32, _ second: Int32, until end: Int32, into secret: HeldOutput?
  ) -> ([UInt8], [UInt8]) {
    var found: [[UInt8]] = [[], []]
    var watched = [first, second, end].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while watched.prefix(2).contains(where: { $0.fd >= 0 }) {
      // After the command's end, this loop reads what is left in the pipes without waiting for more.
      let isOver = watched[2].revents != 0
      let count = poll(&watched, isOver ? 2 : 3, isOver ? 0 : -1)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      for number in 0..<2 where watched[number].revents != 0 {
        if number == 0, let secret {
          if !secret.take(from: first) { watched[0].fd = -1 }
          continue
        }
        let count = Glibc.read(watched[number].fd, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 {
          watched[number].fd = -1
        } else if found[number].count < limit {
          found[number] += buffer[..<count]
        }
      }
    }
    return (found[0], found[1])
  }

  /// Interrupts the command, as Ctrl-C does.
  func stop() { running.child?.send(SIGINT) }
}

/// A secret line of output: 4,096 bytes at most, in locked memory.
final class HeldOutput: @unchecked Sendable {
  private var bytes: SecureBytes
  private var count = 0

  init() throws(SodiumError) { bytes = try SecureBytes(count: 4096) }

  /// Reads a part of the line.
  ///
  /// - Returns: whether more may follow.
  fileprivate func take(from pipe: Int32) -> Bool {
    let found = SystemCall.read(pipe, into: bytes.mutableBytes(from: count))
    if found < 0 { return errno == EINTR }
    count += found
    return found > 0
  }

  /// A copy of the line, without the newline at the end.
  func line() throws(SodiumError) -> SecureBytes { try Self.line(bytes, count) }

  private static func line(_ bytes: borrowing SecureBytes, _ count: Int) throws(SodiumError) -> SecureBytes {
    let hasEnd = count > 0 && bytes[count - 1] == UInt8(ascii: "\n")
    return try SecureBytes(copying: bytes.bytes.extracting(first: hasEnd ? count - 1 : count))
  }
}

extension JSONValue {
  /// The value of a key in an object; null if the object has no such key.
  subscript(key: String) -> JSONValue {
    if case .object(let values) = self { values[key] ?? .null } else { .null }
  }
  /// The values of an array.
  var list: [JSONValue] { if case .array(let values) = self { values } else { [] } }
  /// The text, or the number as a text; empty for anything else.
  var string: String {
    switch self {
    case .string(let text): text
    case .number(let text): text
    default: ""
    }
  }
  /// A number that is not negative; 0 for anything else.
  var number: UInt64 { if case .number(let text) = self { UInt64(text) ?? 0 } else { 0 } }
  /// Whether it is true.
  var isTrue: Bool { self == .bool(true) }
}
