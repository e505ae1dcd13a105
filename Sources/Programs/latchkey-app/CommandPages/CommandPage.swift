import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeySodium

/// The common part of all pages that show a command's output: groups of rows, a progress bar, and a button that stops the command.
class CommandPage: Page {
  let title: String
  var widget: Widget { area }
  let content = Box(.column, spacing: 18)
  let copying: Copying
  let window: () -> Window?

  private let area: ScrolledArea
  // "sealed", "unlocked" or "locked".
  private var state = ""
  private let progress = ProgressBar().expanding(horizontally: true).centred()
  private let working = Label()
  private let progressBox: Box
  private let message = Label(wraps: true, isSelectable: true).styled("warning")
  private var command: ChildCommand?
  private var pulse: Timer?
  // Whether the running command changes something. Only the person's Stop ends such a command.
  private var isEarnest = false
  // Grows with each command, so that the page can drop the result of an older command.
  private var turn = 0

  init(_ title: String, _ text: String, _ copying: Copying, _ window: @escaping () -> Window?) {
    (self.title, self.copying, self.window) = (title, copying, window)
    let stop = Button(translated("_Stop"))
    progressBox = Box(.column, spacing: 6, working, Box(.row, spacing: 12, progress, stop))
    area = ScrolledArea(
      Clamp(Box(.column, spacing: 18, Label(text, wraps: true), progressBox, message, content).margins(18, 12)))
    progressBox.isVisible = false
    message.isVisible = false
    stop.onPress { [unowned self] in self.command?.stop() }
  }

  /// Fills the page. Subclasses override this.
  func load() {}

  func appear() { load() }
  func leave() {}

  func vaultChanged(_ state: String) {
    let former = self.state
    self.state = state
    if former != state, area.isOnScreen { load() }
  }

  /// Whether a command runs.
  var isRunning: Bool { command != nil }

  /// Runs a command, and shows its progress. If another command is running, the page stops that one first. But if the running
  /// command changes something, it goes on, and the new command does not start.
  ///
  /// - Parameters:
  ///   - program: the path of the program; `latchkey` if nil.
  ///   - secret: receives the output, in locked memory.
  ///   - words: the text beside the progress bar.
  ///   - isEarnest: whether the command changes something. The page's buttons are disabled while such a command runs.
  ///   - then: gets the result, unless a later command was started.
  func run(
    program: String? = nil, _ arguments: [String], input: consuming SecureBytes? = nil, secret: HeldOutput? = nil,
    saying words: String = translated("Looking…"), isEarnest: Bool = false,
    then: @escaping (ChildCommand.Outcome) -> Void
  ) {
    guard !self.isEarnest else { return }
    command?.stop()
    self.isEarnest = isEarnest
    content.isEnabled = !isEarnest
    turn += 1
    let mine = turn
    message.isVisible = false
    working.text = words
    pulse = Timer(milliseconds: 150, repeating: true) { [unowned self] in
      progressBox.isVisible = true
      progress.pulse()
    }
    command = ChildCommand(program: program, arguments, input: input, secret: secret) { [weak self] outcome in
      guard let self, mine == turn else { return }
      self.isEarnest = false
      content.isEnabled = true
      pulse = nil
      command = nil
      progressBox.isVisible = false
      then(outcome)
    }
  }

  /// Asks for a secret that a command reads from its standard input.
  ///
  /// - Parameters:
  ///   - answer: the name of the button that confirms.
  ///   - then: gets the line.
  func ask(
    _ purpose: SecretField.Purpose, _ title: String, _ text: String, name: String, answer: String,
    then: @escaping (consuming SecureBytes?) -> Void
  ) {
    guard let window = window() else { return }
    let field = SecretField(purpose, name: name)
    let question = Question(
      title, text, answers: [("cancel", translated("_Cancel"), .plain), ("go", answer, .suggested)], content: field,
      over: window
    ) { given in
      let bytes = try? field.take()
      field.erase()
      if given == "go" { then(Self.line(bytes)) }
    }
    field.onEnter { [weak question] in question?.answer("go") }
    field.focus()
  }

  /// The secret and a newline, as the command reads it; nil without memory.
  private static func line(_ given: consuming SecureBytes?) -> SecureBytes? {
    guard let given, var line = try? SecureBytes(count: given.count + 1) else { return nil }
    line.write(given.bytes, at: 0)
    line.write([UInt8(ascii: "\n")].span.bytes, at: given.count)
    return line
  }

  /// Shows a command's error until the next command starts.
  func complain(_ outcome: ChildCommand.Outcome) {
    complain(outcome.status == -1 && outcome.message.isEmpty ? translated("It was stopped.") : outcome.message)
  }

  func complain(_ text: String) {
    message.text = text
    message.isVisible = !text.isEmpty
  }

  /// A row with a command, and a button that copies it.
  func row(_ title: String, command line: String) -> Row {
    Row(title, line).adding(copyButton(line))
  }

  /// A button that copies a command.
  func copyButton(_ line: String) -> Button {
    Button(symbol: "edit-copy-symbolic", name: translated("Copy Command")) { [unowned self] in
      copying.copy(line)
      window()?.tell(translated("The command is in the clipboard. Paste it into a terminal."))
    }
  }
}
