import Glibc
import Posix

/// Whether a terminal shows what is typed, for a moment.
public final class TerminalEcho {
  private let terminal: Int32
  private var before = termios()

  /// The terminal's settings from now on, until ``restore()``.
  ///
  /// - Parameters:
  ///   - terminal: stays the caller's, and open.
  ///   - interrupt: when false, Ctrl-C is no signal but ends the line, as its last byte; nor do other keys send signals. For
  ///     a terminal whose foreground program is another one: it would be stopped or ended, not this one.
  public init(of terminal: Int32, isOn: Bool, interrupt: Bool = true) throws(PosixError) {
    self.terminal = terminal
    guard tcgetattr(terminal, &before) == 0 else { throw PosixError("tcgetattr") }
    var now = before
    if isOn { now.c_lflag |= tcflag_t(ECHO) } else { now.c_lflag &= ~tcflag_t(ECHO) }
    if !interrupt {
      now.c_lflag &= ~tcflag_t(ISIG)
      withUnsafeMutableBytes(of: &now.c_cc) { keys in keys[Int(VEOL)] = TerminalEcho.interruptKey }
    }
    // What was typed before the question is no answer to it.
    guard tcsetattr(terminal, TCSAFLUSH, &now) == 0 else { throw PosixError("tcsetattr") }
  }

  /// Ctrl-C, as a byte.
  public static let interruptKey: UInt8 = 3

  /// The terminal as it was.
  public func restore() {
    tcsetattr(terminal, TCSAFLUSH, &before)
  }
}
