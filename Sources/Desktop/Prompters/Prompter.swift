import LatchkeyControl

/// A way to ask the person.
public protocol Prompter: AnyObject {
  /// Where it asks.
  var place: PromptPlace { get }

  /// Asks, and waits for the answer; where it asked before and nothing ended it, in the same window. `warning` says that
  /// the answer before was not right.
  func ask(_ question: PromptText) -> Answer

  /// Shows what needs no answer, as "place your finger on the reader", while something else than this program waits for the
  /// person.
  ///
  /// - Returns: whether it did.
  func show(_ notice: PromptText) -> Bool

  /// Says that the answer is being checked, which may take a minute on a slow machine.
  ///
  /// - Returns: whether the person sees that.
  func check() -> Bool

  /// Says that nobody waits any more for the answer that is being checked.
  func tellWithdrawn()

  /// Takes away what is on the screen. Nothing is asked afterwards.
  func end()

  /// Whether it asks twice for a new passphrase, and accepts only two equal answers.
  var repeatsNew: Bool { get }
}

extension Prompter {
  /// In a window.
  public var place: PromptPlace { .window }

  /// It cannot.
  public func show(_ notice: PromptText) -> Bool { false }

  /// Its window is gone, or says nothing of that.
  public func check() -> Bool { false }

  /// Its window goes.
  public func tellWithdrawn() {}

  /// It does not.
  public var repeatsNew: Bool { false }
}
