import Glibc
import LatchkeyControl
import LatchkeyPAMClient
import LatchkeySodium

/// Asks by a pinentry: in a window, or on the caller's terminal.
///
/// This never sets the option `allow-external-password-cache`. With that option, pinentry would ask the Secret Service, which is
/// Latchkey itself.
final class Pinentry: Prompter {
  private var process: PinentryProcess
  private let terminal: CallerTerminal?
  private let deadline: PromptDeadline
  /// The terminal's settings between and during the questions: no echo, and no keys that end or stop a program. Such a key would
  /// reach the caller, while pinentry would still read.
  private var silence: TerminalEcho?
  /// The settings that pinentry gave the terminal for its question.
  private var screen: termios?
  private var isShown = false
  /// Whether the process has been stopped, so that the next question needs a new one.
  private var isSpent = false

  private(set) var repeatsNew = false

  var place: PromptPlace { terminal == nil ? .window : .terminal }

  private static let displays: Set<String> = ["DISPLAY", "WAYLAND_DISPLAY"]

  /// The errors that mean that the person dismissed the prompt: cancelled, not confirmed, fully cancelled.
  private static let dismissals: Set<UInt32> = [99, 114, 198]
  /// The error of a pinentry whose time is up.
  private static let timeout: UInt32 = 62

  /// Nil if no pinentry works in that place.
  init?(terminal: CallerTerminal?, deadline: PromptDeadline) {
    guard let process = Self.started(for: terminal, deadline) else { return nil }
    self.process = process
    self.terminal = terminal
    self.deadline = deadline
    if terminal == nil, Self.isFlavor("gnome3", process) {
      // This kind of pinentry uses GNOME's prompter, which has already failed, and would wait for it without a limit.
      return nil
    }
  }

  private static func started(for terminal: CallerTerminal?, _ deadline: PromptDeadline) -> PinentryProcess? {
    guard let process = PinentryProcess(without: terminal == nil ? [] : displays, deadline: deadline),
      process.response() == .done
    else { return nil }
    // Pinentry's own limit is 60 s. This option gives it the prompt's limit, so that it ends even if this program has ended.
    _ = process.run("SETTIMEOUT \(deadline.seconds)")
    // Without this option, or with the locale "C", pinentry silently drops letters outside ASCII from the answer.
    _ = process.run("OPTION lc-ctype=\(Assuan.escape(locale))")
    if let terminal {
      guard process.run("OPTION ttyname=\(Assuan.escape(terminal.path))") else { return nil }
      _ = process.run("OPTION ttytype=\(terminal.kind)")
    }
    return process
  }

  deinit { clear() }

  func ask(_ question: PromptText) -> Answer {
    if isSpent {
      guard let next = Self.started(for: terminal, deadline) else { return .unavailable }
      (process, isSpent) = (next, false)
    }
    let texts = [
      ("SETTITLE", question.title), ("SETDESC", "\(question.message)\n\n\(question.detail)"),
      ("SETPROMPT", question.label), ("SETOK", question.button), ("SETCANCEL", PromptWording.cancel),
    ]
    for (command, text) in texts {
      guard process.run("\(command) \(Assuan.escape(text))") else { return .unavailable }
    }
    if !question.warning.isEmpty {
      _ = process.run("SETERROR \(Assuan.escape(PlainText.sentence(question.warning)))")
    }
    if !question.repeatLabel.isEmpty {
      // Some pinentries have no quality bar and no second field. They return an error, or ignore the option.
      _ = process.run("SETQUALITYBAR \(Assuan.escape(PromptWording.strength))")
      // If the person presses Enter in the first field, the second field is empty and the two differ. So the sentence names the Tab
      // key. pinentry-tty has lines, not fields.
      let difference = isOfLines ? PromptWording.difference : PromptWording.differenceOfFields
      _ = process.run("SETREPEATERROR \(Assuan.escape(difference))")
      _ = process.run("SETREPEAT \(Assuan.escape(question.repeatLabel))")
    }
    guard takeTerminal() else { return .unavailable }
    isShown = true
    let before = terminal?.settings
    process.send(question.isConfirmation ? "CONFIRM" : "GETPIN")
    watchTerminal(since: before)
    switch process.response(atMost: nil) {
    case .done:
      isShown = false
      if question.isConfirmation { return .agreed }
      repeatsNew = process.isRepeated
      guard let answer = process.takeData() else { return .unavailable }
      return terminal != nil && Self.isInterrupted(answer) ? .dismissed : .given(answer)
    case .failed(let code):
      isShown = false
      if code == Self.timeout {
        deadline.expire()
        return .dismissed
      }
      return Self.dismissals.contains(code) ? .dismissed : .unavailable
    // Pinentry ended while it asked, or the time is up.
    case nil: return .dismissed
    case .garbled, .asksQuality: return .unavailable
    }
  }

  /// Only a terminal can show it, because a window disappears with its answer. If pinentry drew on the whole terminal, text may be
  /// left in this line, so the line is cleared first.
  func check() -> Bool {
    terminal?.say("\r\u{1B}[K" + TerminalConversation.checking + "\n")
    return terminal != nil
  }

  /// A window shows the notice with one button, which cancels. A terminal shows it in a line.
  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool {
    if let terminal { return terminal.wait(notice, until: isDone, deadline) }
    let texts = [
      ("SETTITLE", notice.title), ("SETDESC", "\(notice.message)\n\n\(notice.detail)"), ("SETOK", PromptWording.cancel),
    ]
    for (command, text) in texts { _ = process.run("\(command) \(Assuan.escape(text))") }
    process.send("CONFIRM --one-button")
    let end = process.response(atMost: nil, or: isDone)
    // Ending the process closes the window.
    process.stop()
    isSpent = true
    switch end {
    case .done: return isDone()
    case .failed(let code) where Self.dismissals.contains(code): return isDone()
    // The person can touch the device even if no window could be shown.
    case .failed, .garbled, .asksQuality, nil: return deadline.wait(until: isDone)
    }
  }

  func tellWithdrawn() { terminal?.say(TerminalPrompter.withdrawn) }

  func end() { clear() }

  /// Turns the terminal's echo off, and drops text that was typed before the question. Without this, a second Enter after the last
  /// answer would count as the next answer.
  private func takeTerminal() -> Bool {
    guard let terminal else { return true }
    if silence != nil {
      tcflush(terminal.number, TCIFLUSH)
    } else {
      silence = try? TerminalEcho(of: terminal.number, isOn: false, interrupt: false)
    }
    return silence != nil
  }

  /// Waits until pinentry has changed the terminal's settings, and keeps these settings.
  private func watchTerminal(since before: termios?) {
    guard let terminal, screen == nil, let before else { return }
    for _ in 0..<500 where screen == nil && !process.hasInput && !deadline.isOver {
      _ = deadline.wait(atMost: .milliseconds(20)) { process.hasInput }
      if let now = terminal.settings, !now.isSame(as: before) { screen = now }
    }
  }

  /// Resets the terminal. If pinentry is stopped while it asks, it leaves its screen on the terminal.
  private func clear() {
    guard let terminal else { return }
    if isShown { process.stop() }
    silence?.restore(from: screen ?? terminal.settings)
    silence = nil
    // Leaves the alternate screen, shows the cursor and resets colours.
    if isShown { terminal.say("\u{1B}[?1049l\u{1B}[?25h\u{1B}[0m\n") }
    isShown = false
  }

  /// Whether the answer has a Ctrl-C. Ctrl-C sends no signal here, so pinentry takes it for a letter.
  private static func isInterrupted(_ answer: borrowing SecureBytes) -> Bool {
    answer.bytes.contains(TerminalEcho.interruptKey)
  }

  private static var locale: String {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = getenv(name), value.pointee != 0 else { continue }
      let locale = String(cString: value)
      if locale != "C" && locale != "POSIX" { return PlainText.name(locale) }
      break
    }
    return "C.UTF-8"
  }

  private var isOfLines: Bool { Self.isFlavor("tty", process) }

  private static func isFlavor(_ name: String, _ process: PinentryProcess) -> Bool {
    guard process.run("GETINFO flavor"), let flavor = process.takeData() else { return false }
    return flavor.bytes.starts(with: name.utf8)
  }
}
