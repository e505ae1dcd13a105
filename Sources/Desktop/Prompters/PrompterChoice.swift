import LatchkeyControl

/// Asks by what the person sees: the desktop's own prompter, else another on the display, else the caller's terminal. A
/// prompter that is missing or does not work gives way to the next. If none is left, nobody can be asked.
public final class PrompterChoice: Prompter {
  private let deadline: PromptDeadline
  private var candidates: ArraySlice<() -> (any Prompter)?> = []
  private var current: (any Prompter)?
  /// Whether the person was told that the answer is being checked, and has heard nothing since.
  private var isChecking = false
  /// Shows the person that an answer is being checked, if the prompter shows nothing.
  private var checkingNotice: CheckingNotice?
  private let willAsk: (PromptPlace) -> Void
  /// The place that was told last.
  private var told: PromptPlace?
  private let terminal: String
  private let hasWindows: Bool
  /// The caller's terminal, line by line.
  private lazy var terminalPrompter = CallerTerminal(path: terminal).map { TerminalPrompter($0, deadline: deadline) }
  private lazy var bus = DesktopBus(deadline: deadline)

  /// Looks for nothing yet.
  ///
  /// - Parameters:
  ///   - terminal: the path of the caller's terminal; may be empty.
  ///   - windowID: the caller's window, as it named it; may be empty.
  ///   - willAsk: called before a question with the place where it is asked, if that is another one than before.
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

  /// Asks by the first that works; see ``Prompter/ask(_:)``.
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

  /// Shows it by that which asked; where nobody was asked yet, on the caller's terminal, as no dialog is without an answer.
  public func show(_ notice: PromptText) -> Bool {
    if let current { return current.show(notice) }
    // Where there are windows, a terminal may be covered by them, or be nobody's.
    guard !hasWindows else { return false }
    return terminalPrompter?.show(notice) ?? false
  }

  /// As that which asked, or else by a notification.
  public func check() -> Bool {
    isChecking = true
    guard let current, !current.check() else { return true }
    checkingNotice = CheckingNotice()
    return true
  }

  /// As that which asked, where the person waits to hear of the answer.
  public func tellWithdrawn() { if isChecking { current?.tellWithdrawn() } }

  /// Takes away what is on the screen.
  public func end() {
    checkingNotice = nil
    current?.end()
    current = nil
    candidates = []
  }

  /// As that which asks.
  public var place: PromptPlace { current?.place ?? .window }

  /// As that which asked.
  public var repeatsNew: Bool { current?.repeatsNew ?? false }
}
