import Glibc
import LatchkeyPosix

/// Whether a terminal shows what is typed, for a moment.
public final class TerminalEcho {
  private let terminal: Int32
  private var before = termios()
  private var own = termios()
  private let isCallers: Bool

  /// The terminal's settings from now on, until ``restore()``.
  ///
  /// - Parameters:
  ///   - terminal: stays the caller's, and open.
  ///   - interrupt: when false, Ctrl-C is no signal but ends the line, as its last byte; nor do other keys send signals. For
  ///     a terminal whose foreground program is another one: it would be stopped or ended, not this one.
  public init(of terminal: Int32, isOn: Bool, interrupt: Bool = true) throws(PosixError) {
    self.terminal = terminal
    isCallers = !interrupt
    guard tcgetattr(terminal, &before) == 0 else { throw PosixError("tcgetattr") }
    var now = before
    if isOn { now.c_lflag |= tcflag_t(ECHO) } else { now.c_lflag &= ~tcflag_t(ECHO) }
    if !interrupt {
      now.c_lflag &= ~tcflag_t(ISIG)
      withUnsafeMutableBytes(of: &now.c_cc) { keys in
        // A program with a screen of its own switches the signals on, but leaves the keys.
        for key in [VINTR, VQUIT, VSUSP] { keys[Int(key)] = TerminalEcho.noKey }
        keys[Int(VEOL)] = TerminalEcho.interruptKey
      }
    }
    // Input from before the question is no answer to it.
    guard tcsetattr(terminal, TCSAFLUSH, &now) == 0, tcgetattr(terminal, &own) == 0 else {
      throw PosixError("tcsetattr")
    }
  }

  /// Ctrl-C, as a byte.
  public static let interruptKey: UInt8 = 3
  /// `_POSIX_VDISABLE`, which is a cast in C.
  private static let noKey: UInt8 = 0

  /// The terminal as it was. Where its foreground program is another one, which is gone, a shell may have taken it back and
  /// edits a line there. Settings that others have made since stay.
  ///
  /// - Parameter other: the settings of a program that was started to ask on it, and was ended.
  public func restore(from other: termios? = nil) {
    var now = termios()
    guard !isCallers || tcgetattr(terminal, &now) == 0 && (now.isSame(as: own) || other.map(now.isSame) ?? false) else {
      return
    }
    tcsetattr(terminal, TCSAFLUSH, &before)
  }
}

extension termios {
  /// Whether a terminal works alike.
  public func isSame(as other: termios) -> Bool {
    c_iflag == other.c_iflag && c_oflag == other.c_oflag && c_cflag == other.c_cflag && c_lflag == other.c_lflag
      && withUnsafeBytes(of: c_cc) { own in withUnsafeBytes(of: other.c_cc) { own.elementsEqual($0) } }
  }
}
