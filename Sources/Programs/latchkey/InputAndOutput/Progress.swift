import Glibc

/// A line on the terminal that shows the progress of a command. It is not shown if standard error is no terminal.
final class Progress {
  private let isShown: Bool
  private var last = ContinuousClock.now - .seconds(1)
  private var hasShown = false

  /// - Parameter isWanted: false if the command writes to the same terminal meanwhile.
  init(isWanted: Bool = true) { isShown = isWanted && StandardStream.error.isTerminal }

  /// Shows the line, ten times a second at most.
  func show(_ text: @autoclosure () -> String) {
    guard isShown, ContinuousClock.now - last >= .milliseconds(100) else { return }
    last = .now
    hasShown = true
    // Labels in it could control the terminal.
    StandardStream.error.show("\r\u{1B}[K\(TerminalText.printable(text()))")
  }

  /// Removes the line. A text that follows ends with a line feed, so that another call removes nothing.
  func end() {
    if hasShown { StandardStream.error.show("\r\u{1B}[K") }
  }
}
