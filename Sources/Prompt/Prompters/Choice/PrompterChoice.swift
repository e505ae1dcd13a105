import LatchkeyControl

/// Asks where the person looks: by the desktop's own prompter, else another one on the display, else on the caller's terminal.
/// A prompter that is missing or does not work gives way to the next. If none is left, nobody can be asked.
public final class PrompterChoice: Prompter {
  private let deadline: PromptDeadline
  private var candidates: ArraySlice<() -> (any Prompter)?> = []
  private var current: (any Prompter)?
  /// Whether the person was told that the answer is being checked, and nothing since.
  private var isChecking = false
  /// Shows the person that an answer is being checked, if the prompter shows nothing.
  private var checkingNotice: CheckingNotice?
  private let willAsk: (PromptPlace) -> Void
  /// The place that was reported last.
  private var told: PromptPlace?
  private let terminal: String
  private let hasWindows: Bool
  /// The caller's terminal, line by line.
  private lazy var terminalPrompter = CallerTerminal(path: terminal).map { TerminalPrompter($0, deadline: deadline) }
  private lazy var bus = DesktopBus(deadline: deadline)

  /// Searches for no prompter yet.
  ///
  /// - Parameters:
  ///   - terminal: the path of the caller's terminal; may be empty.
  ///   - windowID: the caller's name for its window; may be empty.
  ///   - willAsk: called before a question with its place, if that differs from the last one.
  public init(
    desktop: Desktop, terminal: String, windowID: String, deadline: PromptDeadline,
    willAsk: @escaping (PromptPlace) -> Void = { _ in }
  ) {
    self.deadline = deadline
    self.willAsk = willAsk
    self.terminal = terminal
    hasWindows = desktop.hasDisplay
    let gnome = { [unowned self] () -> (any Prompter)? in
      guard let bus, bus.owner(of: SystemPrompter.name) != nil || desktop.hasDisplay && bus.offers(SystemPrompter.name)
      else { return nil }
      return SystemPrompter(bus, window: windowID)
    }
    let plasma = { [unowned self] () -> (any Prompter)? in
      guard let bus, bus.offers(PlasmaPrompter.name) else { return nil }
      return PlasmaPrompter(bus, window: windowID)
    }
    let window = { () -> (any Prompter)? in desktop.hasDisplay ? Pinentry(terminal: nil, deadline: deadline) : nil }
    let screen = { () -> (any Prompter)? in
      CallerTerminal(path: terminal).flatMap { Pinentry(terminal: $0, deadline: deadline) }
    }
    let lines = { [unowned self] () -> (any Prompter)? in terminalPrompter }
    // Beside Plasma, GNOME's may be installed as well.
    candidates = (desktop.isPlasma ? [plasma] : []) + [gnome, window, screen, lines]
  }

  /// Asks by the first prompter that works; see ``Prompter/ask(_:)``.
  public func ask(_ question: PromptText) -> Answer {
    isChecking = false
    checkingNotice = nil
    while !deadline.isOver {
      guard let prompter = current else {
        guard let next = candidates.popFirst() else { return .unavailable }
        current = next()
        continue
      }
      if told != prompter.place { willAsk(prompter.place) }
      told = prompter.place
      guard !deadline.isOver else { break }
      switch prompter.ask(question) {
      case .given(let bytes): return .given(bytes)
      case .dismissed: return .dismissed
      case .unavailable:
        prompter.end()
        current = nil
      }
    }
    return .dismissed
  }

  /// Shows the message by the prompter that asked. If none asked yet, shows it on the caller's terminal, because every dialog
  /// needs an answer.
  public func show(_ notice: PromptText) -> Bool {
    if let current { return current.show(notice) }
    // If there are windows, they may cover the terminal, or nobody may look at it.
    guard !hasWindows else { return false }
    return terminalPrompter?.show(notice) ?? false
  }

  /// Shows it by the prompter that asked, or else by a notification.
  public func check() -> Bool {
    isChecking = true
    guard let current, !current.check() else { return true }
    checkingNotice = CheckingNotice()
    return true
  }

  /// Says it by the prompter that asked, and waits.
  public func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool {
    current?.wait(notice, until: isDone) ?? deadline.wait(until: isDone)
  }

  /// Tells it by the prompter that asked, if the person waits for the result.
  public func tellWithdrawn() { if isChecking { current?.tellWithdrawn() } }

  /// Removes everything from the screen.
  public func end() {
    checkingNotice = nil
    current?.end()
    current = nil
    candidates = []
  }

  /// The place where the present prompter asks.
  public var place: PromptPlace { current?.place ?? .window }

  /// Whether the last prompter asked for a new passphrase twice.
  public var repeatsNew: Bool { current?.repeatsNew ?? false }
}
