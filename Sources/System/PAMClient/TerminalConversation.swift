import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// A conversation on the terminal of the process: secrets are asked for without echo. Afterwards the terminal is as before,
/// even if Ctrl-C, Ctrl-Z or a signal comes first.
public final class TerminalConversation: Conversation {
  /// Thrown instead of a person's answer: standard input is not a terminal, and no option says to read it.
  public struct NoTerminal: Error {}

  private let input: FileDescriptor
  private let output: FileDescriptor
  private let isTerminal: Bool
  /// Whether a question was left without an answer.
  public private(set) var wasCancelled = false
  /// The number of questions that were answered.
  public private(set) var answerCount = 0

  /// Uses the terminal itself, even if standard input is no terminal.
  public init() throws(NoTerminal) {
    guard let terminal = try? FileDescriptor.open("/dev/tty", flags: O_RDWR | O_NOCTTY),
      let other = try? FileDescriptor.open("/dev/tty", flags: O_WRONLY | O_NOCTTY)
    else { throw NoTerminal() }
    input = terminal
    output = other
    isTerminal = true
  }

  /// Lines of standard input, for scripts. PAM's messages go to standard error; questions are not shown.
  public init(standardInput: Void) {
    input = FileDescriptor(owning: dup(STDIN_FILENO))
    output = FileDescriptor(owning: dup(STDERR_FILENO))
    isTerminal = false
  }

  /// Whether the cursor is behind the sign that an answer is being checked.
  private var isChecking = false

  private func say(_ text: String) {
    endCheck()
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

  /// Shows on a terminal that the modules check the answer now.
  public func check() {
    guard isTerminal else { return }
    say(Self.checking)
    isChecking = true
  }

  /// Removes the sign of ``check()``, so that it is not above the command's output.
  public func endCheck() {
    guard isChecking else { return }
    isChecking = false
    say("\r\u{1B}[K")
  }

  /// The sign that an answer is being checked.
  public static var checking: String { translated("Checking...") }

  private func ask(_ question: String, silently: Bool, _ body: (borrowing SecureBytes) -> Void) {
    do {
      guard isTerminal else { return take(try SecretLine.read(from: input.number, waitForInput), body) }
      while true {
        do { return take(try askTerminal(question, silently: silently), body) } catch is Interrupted {
          // The signal stopped the process without ending it, and the process is in the foreground again.
        }
      }
    } catch {
      wasCancelled = true
    }
  }

  private func take(_ answer: borrowing SecureBytes, _ body: (borrowing SecureBytes) -> Void) {
    answerCount += 1
    body(answer)
  }

  private func askTerminal(_ question: String, silently: Bool) throws -> SecureBytes {
    // A signal that comes meanwhile ends the program only after the terminal is restored.
    let signals = try HeldSignals([SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGHUP])
    defer { signals.release() }
    let echo = try TerminalEcho(of: input.number, isOn: !silently)
    defer {
      if silently { say("\n") }
      echo.restore()
    }
    say(question)
    return try SecretLine.read(from: input.number) {
      guard try signals.wait(for: input.number) else { throw Interrupted() }
    }
  }

  /// The wait is needed because a script may have given a descriptor that does not block.
  private func waitForInput() {
    var item = pollfd(fd: input.number, events: Int16(POLLIN), revents: 0)
    while poll(&item, 1, -1) < 0 && errno == EINTR {}
  }

  private struct Interrupted: Error {}
}
