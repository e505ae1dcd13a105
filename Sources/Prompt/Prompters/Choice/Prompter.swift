import LatchkeyControl

/// A way to ask the person.
public protocol Prompter: AnyObject {
  /// The place where it asks.
  var place: PromptPlace { get }

  /// Asks, and waits for the answer. A window that is still open is used again. `warning` says that the last answer was wrong.
  func ask(_ question: PromptText) -> Answer

  /// Shows a message without an answer, such as "place your finger on the reader", while another program waits for the person.
  ///
  /// - Returns: whether the message was shown.
  func show(_ notice: PromptText) -> Bool

  /// Says that the answer is being checked, which may take a minute on a slow machine.
  ///
  /// - Returns: whether the person sees that.
  func check() -> Bool

  /// Says that a device waits for the person, and waits until `isDone`. The event loop is served meanwhile.
  ///
  /// - Returns: false if the person cancelled that, or the time is up.
  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool

  /// Says that nobody waits any more for the answer that is being checked.
  func tellWithdrawn()

  /// Removes everything from the screen. Nothing is asked afterwards.
  func end()

  /// Whether it asks twice for a new passphrase, and accepts only two equal answers.
  var repeatsNew: Bool { get }
}

extension Prompter {
  /// A prompter asks in a window, unless it says otherwise.
  public var place: PromptPlace { .window }

  /// By default, a prompter cannot show notices.
  public func show(_ notice: PromptText) -> Bool { false }

  /// By default, a prompter cannot show that the answer is being checked.
  public func check() -> Bool { false }

  /// By default, the window only disappears.
  public func tellWithdrawn() {}

  /// By default, a new passphrase is not typed twice in one window.
  public var repeatsNew: Bool { false }
}
