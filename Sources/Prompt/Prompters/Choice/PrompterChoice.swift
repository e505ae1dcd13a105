import LatchkeyControl

/// Asks where the person looks. It tries the desktop's own prompter first, then other prompters on the display, then the caller's
/// terminal. If a prompter is missing or fails, it tries the next one. If none is left, it cannot ask the person.
public final class PrompterChoice: Prompter {
  private let deadline: PromptDeadline
  private var candidates: ArraySlice<() -> (any Prompter)?> = []
  private var current: (any Prompter)?
  /// Whether the person was last told that the answer is being checked.
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

  /// Does not search for a prompter yet.
  ///
  /// - Parameters:
  ///   - terminal: the path of the caller's terminal; may be empty.
  ///   - windowID: the identifier that the caller gave for its window; may be empty.
  ///   - willAsk: called before a question with the question's place, if the last question was in another place.
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
    // GNOME's prompter may be installed on Plasma too, so Plasma's comes first.
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
      switch prompter.ask(question.shown(at: prompter.place)) {
      case .given(let bytes): return .given(bytes)
      case .dismissed: return .dismissed
      case .unavailable:
        prompter.end()
        current = nil
      }
    }
    return .dismissed
  }

  /// Shows the message by the prompter that asked the last question. If there was no question yet, the message appears on the
  /// caller's terminal, because every dialog needs an answer.
  public func show(_ notice: PromptText) -> Bool {
    if let current { return current.show(notice) }
    // On a display, windows may cover the terminal, and nobody may look at it.
    guard !hasWindows else { return false }
    return terminalPrompter?.show(notice) ?? false
  }

  /// Shows by the present prompter that the answer is being checked. If the prompter cannot show it, a notification does.
  public func check() -> Bool {
    isChecking = true
    guard let current, !current.check() else { return true }
    checkingNotice = CheckingNotice()
    return true
  }

  /// Shows the notice by the present prompter, and waits.
  public func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool {
    current?.wait(notice, until: isDone) ?? deadline.wait(until: isDone)
  }

  /// Tells the person by the present prompter, if the person still waits for a result.
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
