import Glibc
import Posix

/// Whether a terminal shows what is typed, for a moment.
final class TerminalEcho {
  private let terminal: Int32
  private var before = termios()

  /// - Parameter terminal: stays the caller's, and open.
  init(of terminal: Int32, isOn: Bool) throws(PosixError) {
    self.terminal = terminal
    guard tcgetattr(terminal, &before) == 0 else { throw PosixError("tcgetattr") }
    var now = before
    if isOn { now.c_lflag |= tcflag_t(ECHO) } else { now.c_lflag &= ~tcflag_t(ECHO) }
    // What was typed before the question is no answer to it.
    guard tcsetattr(terminal, TCSAFLUSH, &now) == 0 else { throw PosixError("tcsetattr") }
  }

  /// The terminal as it was.
  func restore() {
    tcsetattr(terminal, TCSAFLUSH, &before)
  }
}
