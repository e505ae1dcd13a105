import Glibc
import LatchkeyPAMClient
import LatchkeyPosix

/// This program's terminal, on which latchkey-prompt may ask. It is as it was afterwards, also where that was killed.
final class OwnTerminal {
  private let device: FileDescriptor
  private var before = termios()

  /// Nil if there is none.
  init?() {
    guard let device = try? FileDescriptor.open("/dev/tty", flags: O_RDWR | O_NOCTTY) else { return nil }
    self.device = device
    guard tcgetattr(self.device.number, &before) == 0 else { return nil }
  }

  /// Only in the foreground: another program there has the terminal as it wants it.
  func restore() {
    var now = termios()
    var settings = before
    guard tcgetpgrp(device.number) == getpgrp(), tcgetattr(device.number, &now) == 0, !now.isSame(as: before) else {
      return
    }
    tcsetattr(device.number, TCSAFLUSH, &settings)
  }
}
