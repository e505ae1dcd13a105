import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// Asks on the caller's terminal, line by line. During a question the terminal's keys send no signals, because these would go
/// to the caller. Ctrl-C and Ctrl-D dismiss the prompt.
final class TerminalPrompter: Prompter {
  private let terminal: CallerTerminal
  private let deadline: PromptDeadline
  /// The heading that was printed already.
  private var head = ""
  /// Between the questions the terminal shows no typed characters, because a person may type the next answer while PAM takes
  /// its time.
  private var silence: TerminalEcho?

  var place: PromptPlace { .terminal }

  init(_ terminal: CallerTerminal, deadline: PromptDeadline) {
    self.terminal = terminal
    self.deadline = deadline
  }

  func ask(_ question: PromptText) -> Answer {
    var isReadable = false
    let arrived = { (_: IOEvents) in isReadable = true }
    if silence == nil { silence = try? TerminalEcho(of: terminal.number, isOn: false, interrupt: false) }
    guard let source = try? deadline.loop.addIO(fd: terminal.number, events: .readable, handler: arrived),
      let echo = try? TerminalEcho(of: terminal.number, isOn: question.isVisible, interrupt: false)
    else { return .unavailable }
    defer {
      // A visible answer also shows the end of its line, but a dismissed one does not.
      if !question.isVisible || deadline.isOver { terminal.say("\n") }
      echo.restore()
      // No other question follows, but a PAM module may take its time to notice.
      if deadline.isOver { end() }
    }
    say(question)
    let answer = try? withExtendedLifetime(source) {
      try SecretLine.read(from: terminal.number) {
        isReadable = false
        guard deadline.wait(until: { isReadable }) else { throw SecretLine.Cancelled() }
      }
    }
    guard let answer else { return .dismissed }
    return question.isConfirmation ? .agreed : .given(answer)
  }

  func show(_ notice: PromptText) -> Bool {
    sayHead(notice)
    terminal.say(notice.message + "\n")
    return true
  }

  func check() -> Bool {
    terminal.say(TerminalConversation.checking + "\n")
    return true
  }

  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool {
    terminal.wait(notice, until: isDone, deadline)
  }

  func tellWithdrawn() { terminal.say(TerminalPrompter.withdrawn) }

  /// The words after "Checking..." when nobody wants the answer any more.
  static var withdrawn: String {
    translated(
      "The prompt was withdrawn: the vault was locked, too many answers were wrong, or the program that asked has ended."
    ) + "\n"
  }

  func end() {
    silence?.restore()
    silence = nil
  }

  private func sayHead(_ question: PromptText) {
    let now = "\n\(question.title)\n\(question.detail)\n"
    if now != head { terminal.say(now) }
    head = now
  }

  private func say(_ question: PromptText) {
    sayHead(question)
    if !question.warning.isEmpty { terminal.say(question.warning + "\n") }
    terminal.say(
      question.isConfirmation ? translated("\(question.message) (Enter, or Ctrl-C): ") : question.message + ": ")
  }
}
