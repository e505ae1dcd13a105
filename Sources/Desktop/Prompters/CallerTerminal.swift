import Glibc
import LatchkeyPosix

/// The terminal of the program that caused the prompt. It is nobody's controlling terminal here.
final class CallerTerminal {
  /// The path of its device.
  let path: String
  private let device: FileDescriptor

  /// Nil unless `path` is the device of a terminal that belongs to the person, and that every program uses for lines only.
  /// Other uses are an editor's screen, or a shell that waits for a command while the caller runs in the background.
  init?(path: String) {
    guard path.hasPrefix("/dev/"), path != "/dev/tty",
      // Not waiting: for a modem, or where its output is stopped.
      let device = try? FileDescriptor.open(path, flags: O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW),
      let status = try? device.status(), status.st_mode & S_IFMT == S_IFCHR, status.st_uid == getuid()
    else { return nil }
    self.path = path
    self.device = device
    guard let settings, settings.c_lflag & tcflag_t(ICANON) != 0 else { return nil }
  }

  /// The open device, lent.
  var number: Int32 { device.number }

  /// How it works now; nil where it is gone.
  var settings: termios? {
    var settings = termios()
    return tcgetattr(device.number, &settings) == 0 ? settings : nil
  }

  /// Shows text.
  func say(_ text: String) {
    try? device.writeAll(Array(text.utf8).span.bytes)
  }
}
