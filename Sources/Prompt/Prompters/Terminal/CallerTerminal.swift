import Glibc
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySystemd

/// The terminal of the program that caused the prompt. It is not the controlling terminal of this process.
final class CallerTerminal {
  /// The path of the terminal's device.
  let path: String
  private let device: FileDescriptor

  /// Nil if the terminal cannot be used for questions: see ``ControllingTerminal/openForQuestions(_:)``.
  init?(path: String) {
    guard let device = ControllingTerminal.openForQuestions(path) else { return nil }
    self.path = path
    self.device = device
  }

  /// The number of the open device, which this object keeps.
  var number: Int32 { device.number }

  /// The kind of terminal for pinentry: This is a guess, because a process outside the terminal's session cannot find it out.
  var kind: String {
    if path.hasPrefix("/dev/pts/") { return "xterm" }
    let isScreen = path.hasPrefix("/dev/tty") && path.dropFirst("/dev/tty".count).allSatisfy(\.isNumber)
    // agetty(8) uses vt220 on serial lines.
    return isScreen ? "linux" : "vt220"
  }

  /// The terminal's present settings; nil if the terminal does not exist any more.
  var settings: termios? {
    var settings = termios()
    return tcgetattr(device.number, &settings) == 0 ? settings : nil
  }

  private struct Done: Error {}

  /// Says that a device waits for the person, and waits until `isDone` is true. Ctrl-C and Ctrl-D end the wait.
  ///
  /// - Returns: whether `isDone` became true.
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
        // If the person types a line meanwhile, the line is dropped.
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
