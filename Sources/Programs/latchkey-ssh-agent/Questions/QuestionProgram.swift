import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyPrompters
import LatchkeySystemd

/// Asks one question by the desktop's prompter, a pinentry, or the terminal of the program that caused the question.
enum QuestionProgram {
  /// Reads the question from standard input.
  ///
  /// - Returns: the exit status: 0 if the person agreed, 1 if they did not, 2 if nobody can be asked.
  static func run() -> Int32 {
    takeDisplay()
    Language.begin()
    guard let bytes = try? FileDescriptor(owning: STDIN_FILENO).readAll(limit: 4096),
      let text = Question.Text(bytes), let loop = try? EventLoop()
    else { return 2 }
    let deadline = PromptDeadline(loop: loop, limit: QuestionQueue.personLimit)
    let signals = [SIGTERM, SIGINT, SIGHUP].map { try? loop.addSignal($0) { deadline.giveUp() } }
    let prompter = PrompterChoice(
      desktop: Desktop { getenv($0).map { String(cString: $0) } }, terminal: text.terminal, windowID: "",
      deadline: deadline)
    defer { prompter.end() }
    var question = PromptText(
      title: translated("SSH key"), message: text.message, detail: text.detail, label: "",
      button: translated("Allow"))
    question.isConfirmation = text.kind != .pin
    if text.kind == .host { question.button = translated("Allow until the lock") }
    if text.kind == .pin { (question.label, question.button) = (translated("PIN:"), translated("OK")) }
    return withExtendedLifetime(signals) {
      guard text.kind != .notice else {
        let notice = PersonNotice(title: text.message, text: text.detail)
        if !notice.show(until: deadline), prompter.show(question) { deadline.waitToEnd() }
        return 0
      }
      return switch prompter.ask(question) {
      case .given(let bytes): text.kind != .pin || put(bytes.bytes) ? 0 : 1
      case .dismissed: 1
      case .unavailable: 2
      }
    }
  }

  /// Writes a PIN to standard output.
  private static func put(_ answer: RawSpan) -> Bool {
    let output = FileDescriptor(owning: STDOUT_FILENO)
    return (try? output.writeAll(answer)) != nil
  }

  private static let display = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP"]

  /// Reads the display from the service manager's environment. A desktop may have set it after the start of the agent.
  private static func takeDisplay() {
    guard getenv("DISPLAY") == nil, getenv("WAYLAND_DISPLAY") == nil, getenv("NOTIFY_SOCKET") != nil,
      let answer = popen("systemctl --user show-environment 2>/dev/null", "re")
    else { return }
    defer { pclose(answer) }
    let output = FileDescriptor(owning: dup(fileno(answer)))
    guard let lines = try? output.readAll(limit: 1 << 20).split(separator: UInt8(ascii: "\n")) else { return }
    for line in lines {
      let text = String(decoding: line, as: UTF8.self)
      guard let equals = text.firstIndex(of: "=") else { continue }
      let name = String(text[..<equals])
      guard display.contains(name) else { continue }
      setenv(name, String(text[text.index(after: equals)...]), 1)
    }
  }
}
