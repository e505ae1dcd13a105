import LatchkeyControl
import LatchkeySodium

/// One question to a person. Every text in it is safe to show: see ``PlainText``.
public struct PromptText: Equatable, Sendable {
  /// The title of a window.
  public var title: String
  /// The question, in one sentence.
  public var message: String
  /// The purpose; may be empty.
  public var detail: String
  /// The reason why the last answer failed; empty at first.
  public var warning: String
  /// The text before the field, such as "Password:".
  public var label: String
  /// The text of the button that gives the answer.
  public var button: String
  /// Whether the typed answer is visible.
  public var isVisible: Bool
  /// Whether the person only agrees or declines, and types nothing. The answer is then empty.
  public var isConfirmation = false
  /// Whether the answer is a new secret, which the person must give twice.
  public var isNew: Bool
  /// The text before a second field, if the prompter has one; empty for a single field.
  public var repeatLabel = ""

  /// The sentences that offer another way to unlock, by the place where the prompt asks. An empty answer chooses that way.
  var offers: [PromptPlace: String] = [:]

  /// Makes a question of its parts.
  public init(
    title: String, message: String, detail: String = "", warning: String = "", label: String, button: String,
    isVisible: Bool = false, isNew: Bool = false
  ) {
    self.title = title
    self.message = message
    self.detail = detail
    self.warning = warning
    self.label = label
    self.button = button
    self.isVisible = isVisible
    self.isNew = isNew
  }

  /// The same with the offer for a place.
  func shown(at place: PromptPlace) -> PromptText {
    var text = self
    if let offer = offers[place] { text.detail += " " + offer }
    return text
  }
}

extension Answer {
  /// The answer of a person who agreed without typing.
  static var agreed: Answer { if let nothing = try? SecureBytes(count: 0) { .given(nothing) } else { .unavailable } }
}

/// The outcome of a question.
public enum Answer: ~Copyable {
  /// The typed bytes, without a terminating NUL.
  case given(SecureBytes)
  /// The person declined, or the time was up: see ``PromptDeadline/isOver``.
  case dismissed
  /// Nobody can be asked in this way.
  case unavailable
}
