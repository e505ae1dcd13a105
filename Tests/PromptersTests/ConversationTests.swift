import LatchkeyControl
import LatchkeyItemProtection
import LatchkeyPAMClient
import LatchkeySodium
import Testing

@testable import LatchkeyPrompters

/// A person who answers by a list.
private final class Person: Prompter {
  var questions: [PromptText] = []
  var answers: [String?]
  let repeatsNew: Bool
  let place: PromptPlace

  init(_ answers: [String?], repeatsNew: Bool = false, at place: PromptPlace = .window) {
    self.answers = answers
    self.repeatsNew = repeatsNew
    self.place = place
  }

  func ask(_ question: PromptText) -> Answer {
    questions.append(question.shown(at: place))
    guard !answers.isEmpty else { return .unavailable }
    guard let text = answers.removeFirst(), let bytes = try? SecureBytes(copying: Array(text.utf8).span.bytes) else {
      return .dismissed
    }
    return .given(bytes)
  }

  func wait(_ notice: PromptText, until isDone: () -> Bool) -> Bool { isDone() }

  func end() {}
}

/// Another way to answer, which is offered in a window only, and ends as a list says.
private final class Way: OtherWay {
  var ends: [OtherWayEnd]

  init(_ ends: [OtherWayEnd]) { self.ends = ends }

  func offer(at place: PromptPlace) -> String? { place == .window ? "Or else." : nil }

  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd { ends.removeFirst() }
}

@Suite("A PAM conversation through a prompter")
struct ConversationTests {
  init() throws { try Sodium.initialize() }

  private func conversation(_ person: Person, _ purpose: PromptRequest.Purpose) -> PromptConversation {
    PromptConversation(
      prompter: person,
      wording: PromptWording(
        PromptRequest(purpose: purpose, label: "", caller: "", window: "", terminal: ""),
        at: purpose == .login ? .unlock : .collection))
  }

  private func ask(_ conversation: PromptConversation, _ message: ConversationMessage) -> String? {
    var given: String?
    conversation.answer(message) { answer in
      given = answer.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    return given
  }

  @Test("messages of PAM modules appear once, with the next question")
  func notes() {
    let person = Person(["a", "b", "c"])
    let conversation = conversation(person, .login)
    #expect(ask(conversation, .info("Touch\u{7} it.")) == nil && ask(conversation, .error("Now.")) == nil)
    #expect(ask(conversation, .secret("Password: ")) == "a" && ask(conversation, .visible("Code: ")) == "b")
    #expect(conversation.hasAnswer)
    _ = ask(conversation, .error("Locked soon."))
    conversation.retry()
    #expect(!conversation.hasAnswer && ask(conversation, .secret("Password: ")) == "c")
    let retried = "That password is not right. Try again. Locked soon."
    #expect(person.questions.map(\.warning) == ["Touch it. Now.", "", retried])
    #expect(person.questions.map(\.isVisible) == [false, true, false])
  }

  @Test("after an end nobody is asked")
  func ends() {
    let person = Person([nil, "late"])
    let dismissed = conversation(person, .login)
    #expect(ask(dismissed, .secret("")) == nil && ask(dismissed, .secret("")) == nil)
    #expect(dismissed.end == .dismissed && person.questions.count == 1 && !dismissed.hasAnswer)
    let unavailable = conversation(Person([]), .login)
    #expect(ask(unavailable, .secret("")) == nil && unavailable.end == .unavailable)
  }

  @Test("an empty answer chooses the other way, if there is one; if that fails, the question comes again")
  func otherWay() {
    func conversation(_ person: Person, _ ends: [OtherWayEnd], _ purpose: PromptRequest.Purpose = .login)
      -> PromptConversation
    {
      let way = Way(ends)
      let request = PromptRequest(purpose: purpose, label: "", caller: "", window: "", terminal: "")
      return PromptConversation(
        prompter: person,
        wording: PromptWording(request, at: purpose == .login ? .unlock : .collection, offers: [.window: "Or else."]),
        otherWay: way)
    }
    let person = Person(["", "", "x"])
    let failing = conversation(person, [.failed("No."), .failed("")])
    #expect(ask(failing, .secret("Password: ")) == "x" && failing.end == nil)
    #expect(person.questions.map(\.warning) == ["", "No.", ""])
    #expect(person.questions.allSatisfy { $0.detail.hasSuffix(". Or else.") })
    for (end, expected) in [
      (OtherWayEnd.unlocked, PromptEnd.granted), (.dismissed, .dismissed), (.unavailable, .unavailable),
    ] {
      let ended = conversation(Person(["", "late"]), [end])
      #expect(ask(ended, .secret("Password: ")) == nil && ended.end == expected)
      #expect(ask(ended, .secret("Password: ")) == nil)
    }
    let first = Person(["x"])
    let failed = conversation(first, [.failed("No.")])
    failed.beginWithOtherWay()
    #expect(ask(failed, .secret("Password: ")) == "x" && first.questions.map(\.warning) == ["No."])
    // Where the way is not offered, an empty answer is an answer.
    let elsewhere = Person([""], at: .terminal)
    #expect(ask(conversation(elsewhere, []), .secret("Password: ")) == "")
    #expect(elsewhere.questions.allSatisfy { !$0.detail.contains("Or else") })
    // A second factor may be empty, and a collection has no other way.
    for (purpose, message) in [
      (PromptRequest.Purpose.login, ConversationMessage.secret("Code: ")), (.login, .visible("Password: ")),
      (.collection, .secret("Password: ")),
    ] {
      let person = Person([""])
      #expect(ask(conversation(person, [], purpose), message) == "")
      #expect(person.questions.allSatisfy { !$0.detail.contains("Or else") })
    }
  }

  @Test("a new passphrase is given twice, and is not empty")
  func newPassphrase() {
    let person = Person(["", "x", "y", "z", "z"])
    #expect(ask(conversation(person, .newPassphrase), .secret("")) == "z")
    #expect(
      person.questions.map(\.warning) == ["", PromptWording.emptiness, "", PromptWording.difference, ""])
    let itself = Person(["", "x"], repeatsNew: true)
    #expect(ask(conversation(itself, .newPassphrase), .secret("")) == "x" && itself.questions.count == 2)
    let twice = Person(["x", "", "", "x"])
    #expect(ask(conversation(twice, .newPassphrase), .secret("")) == "x")
    #expect(twice.questions.map(\.repeatLabel.isEmpty) == [false, true, true, true])
    let half = conversation(Person(["x", nil]), .newPassphrase)
    #expect(ask(half, .secret("")) == nil && half.end == .dismissed)
  }

  @Test("a program's passphrase answers only the question of Latchkey's own module")
  func given() throws {
    let request = PromptRequest(
      purpose: .newItemPassphrase, label: "Bank", caller: "mail", window: "", terminal: "", hasPassphrase: true)
    let given = try GivenPassphrase(copying: try SecureBytes(copying: Array("sesame".utf8).span.bytes))
    let own = "Passphrase for 'mark': "
    let others = [
      "Passphrase for 'mark'", "Passphrase for 'Bank': ", "Passphrase for 'Bank', wanted by mail: ", "Password: ", "",
    ]
    let person = Person([])
    let wording = PromptWording(request, at: .item, mark: "mark")
    #expect(wording.environment == ["LATCHKEY_LABEL": "mark"])
    let conversation = PromptConversation(prompter: person, wording: wording, given: given)
    // The passphrase answers the question both times, and nobody has to repeat it.
    #expect(ask(conversation, .secret(own)) == "sesame" && ask(conversation, .secret(own)) == "sesame")
    #expect(conversation.hasAnswer && !conversation.wasSeen && person.questions.isEmpty)
    for text in others {
      let conversation = PromptConversation(prompter: Person([]), wording: wording, given: given)
      #expect(ask(conversation, .secret(text)) == nil && conversation.end == .unavailable)
      #expect(ask(conversation, .secret(own)) == nil)
    }
    #expect(ask(PromptConversation(prompter: Person([]), wording: wording, given: given), .visible(own)) == nil)
    for service: PromptStep.Service in [.unlock, .presence, .biometry, .collection] {
      let wording = PromptWording(request, at: service, mark: "mark")
      #expect(ask(PromptConversation(prompter: Person([]), wording: wording, given: given), .secret(own)) == nil)
    }
    let unmarked = PromptWording(request, at: .item)
    #expect(unmarked.environment == ["LATCHKEY_LABEL": "Bank", "LATCHKEY_CALLER": "mail"])
    for text in others + [own] {
      #expect(ask(PromptConversation(prompter: Person([]), wording: unmarked, given: given), .secret(text)) == nil)
    }
  }
}
