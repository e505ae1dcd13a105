import LatchkeyControl

/// A way to ask the person.
public protocol Prompter: AnyObject {
  /// The place where the prompter asks.
  var place: PromptPlace { get }

  /// Asks, and waits for the answer. A prompter uses a window again that is still open. The question's `warning` says that the last
  /// answer was wrong.
  func ask(_ question: PromptText) -> Answer

  /// Shows a message without an answer, such as "place your finger on the reader". Another program waits for the person then.
  ///
  /// - Returns: whether the message was shown.
  func show(_ notice: PromptText) -> Bool

  /// Says that the answer is being checked, which may take a minute on a slow machine.
  ///
  /// - Returns: whether the person sees that.
  func check() -> Bool

  /// Says that a device waits for the person, and waits until `isDone` is true. The event loop runs meanwhile.
  ///
  /// - Returns: false if the person cancelled, or the time is up.
  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool

  /// Says that nobody needs the answer any more, although it is still being checked.
  func tellWithdrawn()

  /// Removes everything from the screen. No question may follow.
  func end()

  /// Whether the prompter itself asks twice for a new passphrase, and accepts only equal answers.
  var repeatsNew: Bool { get }
}

extension Prompter {
  /// A prompter asks in a window, unless it says otherwise.
  public var place: PromptPlace { .window }

  /// By default, a prompter cannot show notices.
  public func show(_ notice: PromptText) -> Bool { false }

  /// By default, a prompter cannot show that the answer is being checked.
  public func check() -> Bool { false }

  /// By default, this shows nothing. The window only disappears.
  public func tellWithdrawn() {}

  /// By default, a new passphrase is not typed twice in one window.
  public var repeatsNew: Bool { false }
}
