import Glibc
import Sodium

/// Asks by a pinentry: in a window, or on the caller's terminal.
///
/// The option `allow-external-password-cache` is never given: a pinentry then asks the Secret Service, and so us.
final class Pinentry: Prompter {
  private let process: PinentryProcess
  private let terminal: CallerTerminal?
  /// How the terminal was before.
  private let settings: termios?
  private var isShown = false

  private static let displays: Set<String> = ["DISPLAY", "WAYLAND_DISPLAY"]

  /// The errors by which a person dismisses a prompt: timeout, cancelled, fully cancelled.
  private static let dismissals: Set<UInt32> = [62, 99, 198]

  /// Nil where there is none that works there.
  init?(terminal: CallerTerminal?, patience: Patience) {
    guard let process = PinentryProcess(without: terminal == nil ? [] : Self.displays, patience: patience),
      process.response() == .done
    else { return nil }
    self.process = process
    self.terminal = terminal
    settings = terminal?.settings
    if let terminal {
      // What kind of terminal it is, nobody says who is not in the session that it belongs to.
      guard process.run("OPTION ttyname=\(Assuan.escape(terminal.path))") else { return nil }
      _ = process.run("OPTION ttytype=\(terminal.path.hasPrefix("/dev/tty") ? "linux" : "xterm")")
      _ = process.run("OPTION lc-ctype=\(Assuan.escape(Self.locale))")
    } else if Self.asksSystemPrompter(process) {
      // That was tried, and this one would wait for it without a limit.
      return nil
    }
  }

  deinit { clear() }

  func ask(_ question: Question) -> Answer {
    let texts = [
      ("SETTITLE", question.title), ("SETDESC", "\(question.message)\n\n\(question.detail)"),
      ("SETPROMPT", question.label), ("SETOK", question.button), ("SETCANCEL", "Cancel"),
    ]
    for (command, text) in texts {
      guard process.run("\(command) \(Assuan.escape(text))") else { return .unavailable }
    }
    if !question.warning.isEmpty { _ = process.run("SETERROR \(Assuan.escape(question.warning))") }
    isShown = true
    process.send("GETPIN")
    switch process.response(atMost: nil) {
    case .done:
      isShown = false
      guard let answer = process.takeData() else { return .unavailable }
      return .given(answer)
    case .failed(let code):
      isShown = false
      return Self.dismissals.contains(code) ? .dismissed : .unavailable
    // Ended under the person's eyes, or the time is up.
    case nil: return .dismissed
    case .garbled: return .unavailable
    }
  }

  func end() { clear() }

  /// A pinentry that is ended while it asks leaves its screen on the terminal.
  private func clear() {
    guard isShown, let terminal, var settings else { return }
    isShown = false
    process.stop()
    tcsetattr(terminal.number, TCSAFLUSH, &settings)
    // Out of the alternate screen, with a cursor and no colours.
    terminal.say("\u{1B}[?1049l\u{1B}[?25h\u{1B}[0m\n")
  }

  private static var locale: String {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      if let value = getenv(name), value.pointee != 0 { return PlainText.name(String(cString: value)) }
    }
    return "C.UTF-8"
  }

  private static func asksSystemPrompter(_ process: PinentryProcess) -> Bool {
    guard process.run("GETINFO flavor"), let flavor = process.takeData() else { return false }
    return flavor.bytes.withUnsafeBytes { $0.starts(with: "gnome3".utf8) }
  }
}
