import Glibc
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySystemd

/// The terminal of the program that caused the prompt. It is not the controlling terminal of any process here.
final class CallerTerminal {
  /// The path of its device.
  let path: String
  private let device: FileDescriptor

  /// Nil if no questions can be asked there: see ``ControllingTerminal/openForQuestions(_:)``.
  init?(path: String) {
    guard let device = ControllingTerminal.openForQuestions(path) else { return nil }
    self.path = path
    self.device = device
  }

  /// The open device, lent.
  var number: Int32 { device.number }

  /// The kind of terminal for pinentry: a guess, because a process outside the terminal's session cannot know it.
  var kind: String {
    if path.hasPrefix("/dev/pts/") { return "xterm" }
    let isScreen = path.hasPrefix("/dev/tty") && path.dropFirst("/dev/tty".count).allSatisfy(\.isNumber)
    // On serial lines agetty(8) uses the other kind.
    return isScreen ? "linux" : "vt220"
  }

  /// Its present settings; nil if it is gone.
  var settings: termios? {
    var settings = termios()
    return tcgetattr(device.number, &settings) == 0 ? settings : nil
  }

  private struct Done: Error {}

  /// Says that a device waits for the person, and waits until `isDone`. Ctrl-C and Ctrl-D end that.
  ///
  /// - Returns: whether it is done.
  func wait(_ notice: PromptText, until isDone: () -> Bool, _ deadline: PromptDeadline) -> Bool {
    say(translated("\(notice.message) (Ctrl-C cancels)") + "\n")
    var isReadable = false
    let arrived = { (_: IOEvents) in isReadable = true }
    guard let source = try? deadline.loop.addIO(fd: number, events: .readable, handler: arrived) else {
      return deadline.wait(until: isDone)
    }
    defer { source.cancel() }
    while true {
      do {
        // A line that is typed meanwhile is dropped.
        _ = try SecretLine.read(from: number) {
          isReadable = false
          guard deadline.wait(until: { isReadable || isDone() }) else { throw SecretLine.Cancelled() }
          if isDone() { throw Done() }
        }
      } catch { return error is Done }
    }
  }

  /// Shows text.
  func say(_ text: String) {
    try? device.writeAll(Array(text.utf8).span.bytes)
  }
}
