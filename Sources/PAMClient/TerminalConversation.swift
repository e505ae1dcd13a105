import Glibc
import Posix
import Sodium

/// A conversation on the terminal of the process: secrets are asked for without echo, and the terminal is as it was
/// before, also when Ctrl-C, Ctrl-Z or a signal comes first.
public final class TerminalConversation: Conversation {
  /// What is told instead of a person's answer: standard input is no terminal, and was not asked for.
  public struct NoTerminal: Error {}

  private let input: FileDescriptor
  private let output: FileDescriptor
  private let isTerminal: Bool
  /// Whether a question was left without an answer.
  public private(set) var wasCancelled = false
  /// PAM limits an answer to this many bytes (`PAM_MAX_RESP_SIZE`).
  private static let answerLimit = 512

  /// The terminal itself, whatever standard input is.
  public init() throws(NoTerminal) {
    guard let terminal = try? FileDescriptor.open("/dev/tty", flags: O_RDWR | O_NOCTTY),
      let other = try? FileDescriptor.open("/dev/tty", flags: O_WRONLY | O_NOCTTY)
    else { throw NoTerminal() }
    input = terminal
    output = other
    isTerminal = true
  }

  /// Lines of standard input, for scripts. What PAM has to say goes to standard error; questions are not shown.
  public init(standardInput: Void) {
    input = FileDescriptor(owning: dup(STDIN_FILENO))
    output = FileDescriptor(owning: dup(STDERR_FILENO))
    isTerminal = false
  }

  private func say(_ text: String) {
    try? output.writeAll(Array(text.utf8).span.bytes)
  }

  /// Answers by the person's next line; see ``Conversation/answer(_:_:)``.
  public func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    switch message {
    case .info(let text), .error(let text): say(text + "\n")
    case .secret(let text): ask(text, silently: true, body)
    case .visible(let text): ask(text, silently: false, body)
    }
  }

  private func ask(_ question: String, silently: Bool, _ body: (borrowing SecureBytes) -> Void) {
    do {
      guard isTerminal else { return body(try readLine { true }) }
      while true {
        do { return body(try askTerminal(question, silently: silently)) } catch is Interrupted {
          // Not ended by the signal but stopped, and now in the foreground again.
        }
      }
    } catch {
      wasCancelled = true
    }
  }

  private func askTerminal(_ question: String, silently: Bool) throws -> SecureBytes {
    // A signal that comes meanwhile ends the program only when the terminal is as it was before.
    let signals = try HeldSignals([SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGHUP])
    defer { signals.release() }
    let echo = try TerminalEcho(of: input.number, isOn: !silently)
    defer {
      if silently { say("\n") }
      echo.restore()
    }
    say(question)
    return try readLine { () throws in
      guard try signals.wait(for: input.number) else { throw Interrupted() }
      return true
    }
  }

  private struct Cancelled: Error {}
  private struct Interrupted: Error {}

  /// One line, without its end. Before each byte, `ready` waits for it.
  private func readLine(_ ready: () throws -> Bool) throws -> SecureBytes {
    var line = try SecureBytes(count: TerminalConversation.answerLimit)
    var count = 0
    reading: while try ready() {
      var byte: UInt8 = 0
      defer { byte = 0 }
      switch read(input.number, &byte, 1) {
      case 1: break
      case 0 where count > 0: break reading
      case 0: throw Cancelled()
      default:
        if errno == EINTR { continue }
        throw Cancelled()
      }
      switch byte {
      case 0x0a, 0x0d: break reading
      default:
        guard count < TerminalConversation.answerLimit - 1, byte != 0 else { throw Cancelled() }
        line.withUnsafeMutableBytes { $0[count] = byte }
        count += 1
      }
    }
    return try line.prefix(count)
  }
}
