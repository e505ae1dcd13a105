import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPAMClient
import LatchkeySodium

/// A PAM conversation that uses a prompter. Each question of the PAM stack becomes one question to the person. Messages of a PAM
/// module appear at once if the prompter can show them, and otherwise beside the next question.
public final class PromptConversation: Conversation {
  /// The reason why a question got no answer; nil if there is none. It is ``PromptEnd/dismissed``, ``PromptEnd/unavailable``, or
  /// ``PromptEnd/granted`` if another way unlocked the vault. No question follows afterwards.
  public private(set) var end: PromptEnd?
  /// Whether the person answered anything since the last ``retry()``.
  public private(set) var hasAnswer = false

  /// Whether the person saw the request. If not, the person has not agreed to it, even if the stack accepts: a finger on the reader
  /// may have been meant for something else.
  public private(set) var wasSeen = false

  private let prompter: any Prompter
  private let wording: PromptWording
  private let given: GivenPassphrase?
  private let otherWay: (any OtherWay)?
  private var notes: [String] = []
  /// Whether the last answer was typed, and is not a new passphrase.
  private var wasTyped = false

  /// Makes a conversation that asks by `prompter` in the words of `wording`.
  ///
  /// - Parameter given: an answer that a program has given to one question. `wording` has a mark that shows which question.
  /// - Parameter otherWay: the way that an empty answer chooses, if `wording` offers one.
  public init(
    prompter: any Prompter, wording: PromptWording, given: GivenPassphrase? = nil, otherWay: (any OtherWay)? = nil
  ) {
    self.otherWay = otherWay
    self.prompter = prompter
    self.wording = wording
    self.given = given
  }

  /// Notes that the stack refused the answer and will run again.
  public func retry() {
    hasAnswer = false
    notes.insert(wording.refusal, at: 0)
  }

  /// Tries the other way before the stack asks. If it fails, the person sees the reason beside the stack's first question.
  public func beginWithOtherWay() {
    if let otherWay, let sentence = refusal(of: otherWay), !sentence.isEmpty { notes.append(sentence) }
  }

  /// Handles one question or message of the stack; see ``Conversation/answer(_:_:)``.
  public func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void) {
    switch message {
    case .info(let text), .error(let text):
      let note = PlainText.sentence(text)
      // The module may already wait for the person, so the message should appear at once. If the prompter cannot show it, it
      // appears beside the next question.
      guard !note.isEmpty else { return }
      if prompter.show(wording.notice(note)) {
        wasSeen = true
      } else if wording.purpose.needsAgreement && !wasSeen {
        // A window cannot show only a message, so it asks the person to agree.
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

  /// Tells the person that the answer is being checked, if the person typed the answer.
  public func check() { if wasTyped { _ = prompter.check() } }

  /// Asks the person to agree to a request that no question has shown yet.
  ///
  /// - Returns: whether the person agreed. If not, ``end`` says why.
  @discardableResult
  public func confirm(_ note: String = "") -> Bool {
    guard end == nil else { return false }
    return answer(to: wording.confirmation(note)) != nil
  }

  /// Shows the person a text to read.
  ///
  /// - Returns: whether the person confirmed it. If not, ``end`` says why.
  public func advise() -> Bool { answer(to: wording.advice()) != nil }

  private func ask(_ text: String, isVisible: Bool, _ body: (borrowing SecureBytes) -> Void) {
    guard end == nil else { return }
    var question = wording.question(text, isVisible: isVisible, warning: notes.joined(separator: " "))
    notes = []
    while let given = answer(to: question) {
      if given.count == 0, question.offers[prompter.place] != nil, let otherWay {
        guard let refusal = refusal(of: otherWay) else { return }
        question.warning = refusal
        continue
      }
      guard question.isNew else { return body(given) }
      question.warning = PromptWording.emptiness
      guard given.count > 0 else { continue }
      if prompter.repeatsNew { return body(given) }
      // An empty second answer means that the person pressed Enter twice.
      var second = answer(to: wording.repetition(of: question))
      while second?.count == 0 { second = answer(to: wording.repetition(of: question)) }
      guard let second else { return }
      if Sodium.equal(given.bytes, second.bytes) { return body(given) }
      question.warning = PromptWording.difference
    }
  }

  /// Tries another way.
  ///
  /// - Returns: why the way did not unlock the vault; nil if no question follows, for which ``end`` has the reason.
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
