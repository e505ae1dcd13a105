import Glibc
import LatchkeyPAMClient
import LatchkeyPosix

/// This program's terminal, on which latchkey-prompt may ask. Afterwards the terminal is restored, even if latchkey-prompt was
/// killed.
final class OwnTerminal {
  private let device: FileDescriptor
  private var before = termios()

  /// Opens the terminal; nil if there is none.
  init?() {
    guard let device = try? FileDescriptor.open("/dev/tty", flags: O_RDWR | O_NOCTTY) else { return nil }
    self.device = device
    guard tcgetattr(self.device.number, &before) == 0 else { return nil }
  }

  /// Restored only in the foreground: another program in the foreground has its own settings.
  func restore() {
    var now = termios()
    var settings = before
    guard tcgetpgrp(device.number) == getpgrp(), tcgetattr(device.number, &now) == 0, !now.isSame(as: before) else {
      return
    }
    tcsetattr(device.number, TCSAFLUSH, &settings)
  }
}
