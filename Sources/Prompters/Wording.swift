import Control

/// What a prompt says: the person's question in plain words. Labels, names and what PAM modules say are made safe to show.
public struct Wording: Sendable {
  /// What is wanted.
  let purpose: PromptRequest.Purpose
  /// The collection, quoted.
  private let collection: String
  private let detail: String

  /// For one prompt.
  public init(_ request: PromptRequest) {
    purpose = request.purpose
    let label = PlainText.name(request.label)
    collection = label.isEmpty ? "the collection" : "the collection \"\(label)\""
    let caller = PlainText.name(request.caller)
    detail =
      caller.isEmpty
      ? "An application wants access to your secrets." : "The application \"\(caller)\" wants access to your secrets."
  }

  /// What is said when an answer was refused.
  public var refusal: String {
    switch purpose {
    case .login: "That password is not right. Try again."
    case .collection: "That passphrase is not right. Try again."
    case .newPassphrase: "That passphrase was not taken. Try again."
    }
  }

  /// What is said of two answers that differ.
  static let difference = "The two passphrases were not the same. Try again."
  /// What is said of an empty new passphrase.
  static let emptiness = "The passphrase must not be empty."

  /// What PAM modules say when they ask for nothing but the password, without the colon at its end. Everything else
  /// is shown: a code, another device, or in which language ever.
  private static let usual: Set<String> = ["password", "passphrase", "passcode", "new passphrase", "new password"]

  /// The question for what a PAM module asks.
  func question(_ asked: String, isVisible: Bool, warning: String) -> Question {
    let text = PlainText.sentence(asked)
    var bare = Substring(text)
    while let last = bare.last, last == ":" || last == " " { bare.removeLast() }
    let isUsual = bare.isEmpty || Wording.usual.contains(bare.lowercased())
    var question = Question(
      title: "Unlock Latchkey", message: String(bare), detail: detail, warning: warning, label: "\(bare):",
      button: "Unlock", isVisible: isVisible, isNew: purpose == .newPassphrase && !isVisible)
    switch purpose {
    case .login where isUsual:
      question.message = "Enter your login password"
      question.label = "Login password:"
    case .collection where isUsual:
      question.message = "Enter the passphrase of \(collection)"
      question.label = "Passphrase:"
    case .newPassphrase:
      question.title = "New passphrase"
      question.button = "Continue"
      guard isUsual else { break }
      question.message = "Choose a passphrase for \(collection)"
      question.label = "New passphrase:"
    case .login, .collection: break
    }
    return question
  }

  /// The second question for what is new.
  func repetition(of question: Question) -> Question {
    var second = question
    second.message = "Enter the new passphrase of \(collection) again"
    second.label = "New passphrase again:"
    second.warning = ""
    return second
  }
}
