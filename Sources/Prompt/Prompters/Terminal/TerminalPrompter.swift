import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// Asks on the caller's terminal, line by line. During a question Ctrl-C and other keys send no signals, because the signals would
/// go to the caller. Ctrl-C and Ctrl-D dismiss the prompt.
final class TerminalPrompter: Prompter {
  private let terminal: CallerTerminal
  private let deadline: PromptDeadline
  /// The heading that was printed last.
  private var head = ""
  /// Turns the echo off between questions, because a person may already type the next answer while PAM is busy.
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
      // The echo of a visible answer ends the line. After a hidden or dismissed answer the line must be ended here.
      if !question.isVisible || deadline.isOver { terminal.say("\n") }
      echo.restore()
      // No question follows, but the PAM module may need some time to end. The terminal is given back now.
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

  /// The sentence after "Checking..." if the answer is no longer needed.
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
