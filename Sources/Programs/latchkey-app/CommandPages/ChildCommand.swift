import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// A command, mostly of `latchkey`, that runs beside the window. A thread waits for it, so that the window does not.
final class ChildCommand {
  /// Its end.
  struct Outcome: Sendable {
    /// The exit status; -1 if a signal ended the program, or if it could not be started.
    let status: Int32
    fileprivate let output: [UInt8]
    /// The output in locked memory; nil unless the caller asked for that.
    let secret: HeldOutput?
    /// Its messages.
    let errors: String

    /// Its output as JSON; nil if it has none.
    var json: JSONValue? { try? JSONValue(parsing: output) }

    /// The message for a person, without the name of the command.
    var message: String {
      let line = ShownText.sentence(errors)
      for start in ["latchkey: ", "Error: "] where line.hasPrefix(start) { return String(line.dropFirst(start.count)) }
      return line
    }

    /// The sentence with which the window tells a person of a failure.
    var told: String { message.isEmpty ? translated("It was not done.") : message }
  }

  /// The process and the thread that waits for it. They stay until the end, also when nobody holds the command any more: to end
  /// the thread's object is to wait for the thread.
  private final class Running {
    var child: ChildProcess?
    /// The pipe with the command's input, which is a secret.
    var given: FileDescriptor?
    var reader: SideThread?
  }

  private let running = Running()

  /// The most that is kept of an output.
  private static let limit = 64 << 20

  /// Starts it.
  ///
  /// - Parameters:
  ///   - program: the path of another program than `latchkey`.
  ///   - words: its arguments.
  ///   - input: its standard input, which only a pipe has.
  ///   - secret: takes its output, in locked memory; nil for an output without secrets.
  ///   - then: gets its end, on the window's thread.
  init(
    program: String? = nil, _ words: [String], input: consuming SecureBytes? = nil, secret: HeldOutput? = nil,
    then: @escaping (Outcome) -> Void
  ) {
    let program = program ?? Process.folder + "/latchkey"
    let ended = OnMainThread<Outcome> { [running] outcome in
      if let given = running.given.take() { given.erasePipe() }
      // The thread has nothing left to do.
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
          input.bytes.withUnsafeBytes { _ = write(end, $0.baseAddress, min($0.count, 4096)) }
        }
        // The command waits for its input as at a terminal.
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
      // The kernel keeps the last page of a pipe, which has the secret.
      let end = FileDescriptor(owning: output)
      if secret != nil { end.erasePipe() }
      close(complaints)
      var ending = pollfd(fd: child.value.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&ending, 1, -1)
      let status = child.value.reap()
      ended(Outcome(status: status, output: all, secret: secret, errors: String(decoding: words, as: UTF8.self)))
    }
  }

  /// Reads both to their ends, or to the command's: a program that it started may keep them open.
  private static func read(
    _ first: Int32, _ second: Int32, until end: Int32, into secret: HeldOutput?
  ) -> ([UInt8], [UInt8]) {
    var found: [[UInt8]] = [[], []]
    var watched = [first, second, end].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while watched.prefix(2).contains(where: { $0.fd >= 0 }) {
      // After the end, what lies in the pipes is read, and nothing is waited for.
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

  /// Ends the command, as Ctrl-C does.
  func stop() { running.child?.send(SIGINT) }
}

/// A line of output that is secret: 4,096 bytes at most, in locked memory.
final class HeldOutput: @unchecked Sendable {
  private var bytes: SecureBytes
  private var count = 0

  init() throws(SodiumError) { bytes = try SecureBytes(count: 4096) }

  /// Reads some of it.
  ///
  /// - Returns: whether there may be more.
  fileprivate func take(from pipe: Int32) -> Bool {
    let found = bytes.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { Glibc.read(pipe, $0 + count, bytes.count - count) } ?? 0
    }
    if found < 0 { return errno == EINTR }
    count += found
    return found > 0
  }

  /// A copy of the line, without its end.
  func line() throws(SodiumError) -> SecureBytes { try Self.line(bytes, count) }

  private static func line(_ bytes: borrowing SecureBytes, _ count: Int) throws(SodiumError) -> SecureBytes {
    let hasEnd = bytes.bytes.withUnsafeBytes { count > 0 && $0[count - 1] == UInt8(ascii: "\n") }
    return try SecureBytes(copying: bytes.bytes.extracting(first: hasEnd ? count - 1 : count))
  }
}

extension JSONValue {
  /// The value of an object's key; null without one.
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
