import CLinux
import Glibc
import Posix
import Sodium

/// A conversation on the terminal of the process: questions without echo, and the terminal as it was before, also after
/// Ctrl-C.
public final class TerminalConversation: Conversation {
  /// What is told instead of a person's answer: standard input is no terminal, and was not asked for.
  public struct NoTerminal: Error {}

  private let input: FileDescriptor
  private let output: FileDescriptor
  private let isTerminal: Bool
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

  /// Says or asks one thing on the terminal; a person who presses Ctrl-C gives no answer.
  public func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    switch message {
    case .info(let text), .error(let text): say(text + "\n")
    case .secret(let text), .visible(let text):
      if isTerminal { say(text) }
      guard let saved = silence() else { return }
      defer { restore(saved) }
      if let line = try? readLine() { body(line) }
    }
  }

  /// What must be put back when the answer was given.
  private struct Saved {
    let settings: termios?
    let mask: sigset_t
  }

  /// Echo off. Signals that would end the program wait until the terminal is as it was.
  private func silence() -> Saved? {
    var waiting = sigset_t()
    sigemptyset(&waiting)
    for signal in [SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGHUP] { sigaddset(&waiting, signal) }
    var mask = sigset_t()
    guard pthread_sigmask(SIG_BLOCK, &waiting, &mask) == 0 else { return nil }
    guard isTerminal else { return Saved(settings: nil, mask: mask) }
    var settings = termios()
    guard tcgetattr(input.number, &settings) == 0 else {
      pthread_sigmask(SIG_SETMASK, &mask, nil)
      return nil
    }
    var quiet = settings
    quiet.c_lflag &= ~tcflag_t(ECHO)
    // The keys that send signals end the line instead, so that the terminal is never left silent.
    quiet.c_lflag &= ~tcflag_t(ISIG)
    guard tcsetattr(input.number, TCSAFLUSH, &quiet) == 0 else {
      pthread_sigmask(SIG_SETMASK, &mask, nil)
      return nil
    }
    return Saved(settings: settings, mask: mask)
  }

  private func restore(_ saved: Saved) {
    if var settings = saved.settings {
      tcsetattr(input.number, TCSAFLUSH, &settings)
      say("\n")
    }
    var mask = saved.mask
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  private struct Cancelled: Error {}

  /// One line, without its end.
  private func readLine() throws -> SecureBytes {
    var line = try SecureBytes(count: TerminalConversation.answerLimit)
    var count = 0
    reading: while true {
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
      case 0x03, 0x1c, 0x1a: throw Cancelled()  // Ctrl-C, Ctrl-\, Ctrl-Z
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
