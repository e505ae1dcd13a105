import Control

/// What a prompt says: the person's question in plain words. Labels, names and what PAM modules say are made safe to show.
public struct Wording: Sendable {
  /// What is wanted.
  let purpose: PromptRequest.Purpose
  /// The service that asks.
  private let service: PromptStep.Service
  /// The collection or item, quoted.
  private let subject: String
  private let detail: String

  /// For one step of a prompt.
  public init(_ request: PromptRequest, at service: PromptStep.Service) {
    purpose = request.purpose
    self.service = service
    let label = PlainText.name(request.label)
    let kind = service == .collection ? "collection" : "item"
    subject = label.isEmpty ? "the \(kind)" : "the \(kind) \"\(label)\""
    let caller = PlainText.name(request.caller)
    let application = caller.isEmpty ? "An application" : "The application \"\(caller)\" (as far as can be told)"
    switch request.purpose {
    case .item: detail = "\(application) wants to read or change \(subject)."
    case .newItemPassphrase: detail = "\(application) wants to store \(subject)."
    case .login, .collection, .newPassphrase: detail = "\(application) wants access to your secrets."
    }
  }

  /// Whether something new is chosen.
  private var isNew: Bool { purpose == .newPassphrase || purpose == .newItemPassphrase }

  /// What is said when an answer was refused.
  public var refusal: String {
    if isNew { return "That passphrase was not taken. Try again." }
    return switch service {
    case .unlock, .presence: "That password is not right. Try again."
    case .biometry: "That was not recognised. Try again."
    case .collection, .item: "That passphrase is not right. Try again."
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
      button: "Unlock", isVisible: isVisible, isNew: isNew && !isVisible)
    if isNew {
      question.title = "New passphrase"
      question.button = "Continue"
    }
    // The module names who wants it, as for one that is there already; a new one is the person's to choose.
    guard isUsual || (purpose == .newItemPassphrase && !isVisible) else { return question }
    switch service {
    case .unlock, .presence, .biometry:
      question.message =
        service == .unlock ? "Enter your login password" : "Enter your login password to open \(subject)"
      question.label = "Login password:"
    case .collection, .item:
      question.message = isNew ? "Choose a passphrase for \(subject)" : "Enter the passphrase of \(subject)"
      question.label = isNew ? "New passphrase:" : "Passphrase:"
    }
    return question
  }

  /// The second question for what is new.
  func repetition(of question: Question) -> Question {
    var second = question
    second.message = "Enter the new passphrase of \(subject) again"
    second.label = "New passphrase again:"
    second.warning = ""
    return second
  }
}
