import Glibc
import LatchkeyPosix

/// Turns a terminal's echo of typed text off for a moment.
public final class TerminalEcho {
  private let terminal: Int32
  private var before = termios()
  private var own = termios()
  private let isCallers: Bool

  /// The terminal's settings from now on, until ``restore()``.
  ///
  /// - Parameters:
  ///   - terminal: the terminal. The caller still owns and closes it.
  ///   - interrupt: if false, Ctrl-C sends no signal, but ends the line and is its last byte. Other keys send no signals either.
  ///     This is for a terminal with another program in the foreground: a signal would stop or end that program instead.
  public init(of terminal: Int32, isOn: Bool, interrupt: Bool = true) throws(PosixError) {
    self.terminal = terminal
    isCallers = !interrupt
    guard tcgetattr(terminal, &before) == 0 else { throw PosixError("tcgetattr") }
    var now = before
    if isOn { now.c_lflag |= tcflag_t(ECHO) } else { now.c_lflag &= ~tcflag_t(ECHO) }
    if !interrupt {
      now.c_lflag &= ~tcflag_t(ISIG)
      withUnsafeMutableBytes(of: &now.c_cc) { keys in
        // A program with a screen of its own switches the signals on, but does not set the keys.
        for key in [VINTR, VQUIT, VSUSP] { keys[Int(key)] = TerminalEcho.noKey }
        keys[Int(VEOL)] = TerminalEcho.interruptKey
      }
    }
    // Text that was typed before the question is not the answer.
    guard tcsetattr(terminal, TCSAFLUSH, &now) == 0, tcgetattr(terminal, &own) == 0 else {
      throw PosixError("tcsetattr")
    }
  }

  /// The byte of Ctrl-C.
  public static let interruptKey: UInt8 = 3
  /// `_POSIX_VDISABLE`, which is a cast in C.
  private static let noKey: UInt8 = 0

  /// Restores the terminal. If another program was in the foreground and has ended, a shell may have taken the terminal back, to
  /// edit a line. Settings that other programs have made since then stay.
  ///
  /// - Parameter other: the settings of a program that was started to ask on this terminal, and was ended.
  public func restore(from other: termios? = nil) {
    var now = termios()
    guard !isCallers || tcgetattr(terminal, &now) == 0 && (now.isSame(as: own) || other.map(now.isSame) ?? false) else {
      return
    }
    tcsetattr(terminal, TCSAFLUSH, &before)
  }
}

extension termios {
  /// Whether two settings have the same effect.
  public func isSame(as other: termios) -> Bool {
    c_iflag == other.c_iflag && c_oflag == other.c_oflag && c_cflag == other.c_cflag && c_lflag == other.c_lflag
      && withUnsafeBytes(of: c_cc) { own in withUnsafeBytes(of: other.c_cc) { own.elementsEqual($0) } }
  }
}
