import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPAMClient
import LatchkeySodium

/// A PAM conversation by a prompter: each question of the stack is one question to the person. A module's messages are shown
/// at once if the prompter can, else beside the next question.
public final class PromptConversation: Conversation {
  /// Whether, and why, a question was left without an answer: ``PromptEnd/dismissed``, ``PromptEnd/unavailable``, or
  /// ``PromptEnd/granted`` if another way unlocked the vault. Nothing is asked afterwards.
  public private(set) var end: PromptEnd?
  /// Whether the person answered anything since the last ``retry()``.
  public private(set) var hasAnswer = false

  /// Whether the person saw what this is about. Otherwise the person did not mean to agree, whatever a stack accepts: a finger
  /// on the reader may be for something else.
  public private(set) var wasSeen = false

  private let prompter: any Prompter
  private let wording: PromptWording
  private let given: GivenPassphrase?
  private let otherWay: (any OtherWay)?
  private var notes: [String] = []
  /// Whether the last answer was typed, and is not a new passphrase.
  private var wasTyped = false

  /// Asks by `prompter`, in these words.
  ///
  /// - Parameter given: a program's answer to one question; the words have a mark for that question.
  /// - Parameter otherWay: the way that an empty answer chooses, if the words offer one.
  public init(
    prompter: any Prompter, wording: PromptWording, given: GivenPassphrase? = nil, otherWay: (any OtherWay)? = nil
  ) {
    self.otherWay = otherWay
    self.prompter = prompter
    self.wording = wording
    self.given = given
  }

  /// The stack refused, and will be run once more.
  public func retry() {
    hasAnswer = false
    notes.insert(wording.refusal, at: 0)
  }

  /// Tries the other way before the stack asks. Its failure is told beside the stack's first question.
  public func beginWithOtherWay() {
    if let otherWay, let sentence = refusal(of: otherWay), !sentence.isEmpty { notes.append(sentence) }
  }

  /// Asks or notes one thing; see ``Conversation/answer(_:_:)``.
  public func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    switch message {
    case .info(let text), .error(let text):
      let note = PlainText.sentence(text)
      // The module may wait for the person now. So the message is shown at once if possible, else beside the next question.
      guard !note.isEmpty else { return }
      if prompter.show(wording.notice(note)) {
        wasSeen = true
      } else if wording.purpose.needsAgreement && !wasSeen {
        // A window needs something to agree to.
        confirm(note)
      } else {
        notes.append(note)
      }
    case .secret(let text):
      if let given, end == nil, wording.isForGiven(text) {
        hasAnswer = true
        return body(given.bytes)
      }
      ask(text, isVisible: false, body)
    case .visible(let text): ask(text, isVisible: true, body)
    }
  }

  /// Tells the person, if the checked answer was typed.
  public func check() { if wasTyped { _ = prompter.check() } }

  /// Has the person agree to a request that was not shown yet.
  ///
  /// - Returns: whether the person agreed; else ``end`` says why not.
  @discardableResult
  public func confirm(_ note: String = "") -> Bool {
    guard end == nil else { return false }
    return answer(to: wording.confirmation(note)) != nil
  }

  /// Shows the person a text to read.
  ///
  /// - Returns: whether the person confirmed it; else ``end`` says why not.
  public func advise() -> Bool { answer(to: wording.advice()) != nil }

  private func ask(_ text: String, isVisible: Bool, _ body: (borrowing SecureBytes) -> Void) {
    guard end == nil else { return }
    var question = wording.question(text, isVisible: isVisible, warning: notes.joined(separator: " "))
    notes = []
    while let given = answer(to: question) {
      if given.count == 0, question.offersOtherWay, let otherWay {
        guard let refusal = refusal(of: otherWay) else { return }
        question.warning = refusal
        continue
      }
      guard question.isNew else { return body(given) }
      question.warning = PromptWording.emptiness
      guard given.count > 0 else { continue }
      if prompter.repeatsNew { return body(given) }
      // An empty second answer is a second Enter after the first one.
      var second = answer(to: wording.repetition(of: question))
      while second?.count == 0 { second = answer(to: wording.repetition(of: question)) }
      guard let second else { return }
      if Sodium.equal(given.bytes, second.bytes) { return body(given) }
      question.warning = PromptWording.difference
    }
  }

  /// Tries another way.
  ///
  /// - Returns: why it did not unlock the vault; nil if nothing is asked any more, and ``end`` says why.
  private func refusal(of otherWay: any OtherWay) -> String? {
    switch otherWay.unlock(by: prompter, for: wording.detail) {
    case .unlocked: end = .granted
    case .dismissed: end = .dismissed
    case .unavailable: end = .unavailable
    case .failed(let sentence): return sentence
    }
    return nil
  }

  private func answer(to question: PromptText) -> SecureBytes? {
    switch prompter.ask(question) {
    case .given(let bytes):
      wasTyped = !question.isConfirmation && !question.isNew
      hasAnswer = hasAnswer || !question.isConfirmation
      wasSeen = true
      return bytes
    case .dismissed: end = .dismissed
    case .unavailable: end = .unavailable
    }
    return nil
  }
}
