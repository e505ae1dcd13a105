import LatchkeyControl

/// What a prompt says: the person's question in plain words. Labels, names and what PAM modules say are made safe to show.
public struct Wording: Sendable {
  /// What is wanted.
  let purpose: PromptRequest.Purpose
  /// The service that asks.
  private let service: PromptStep.Service
  /// The collection or item, quoted.
  private let subject: String
  private let detail: String
  /// What Latchkey's own module asks of whoever has no better words: with the names of both.
  private let ownText: String
  private let isMarked: Bool
  /// What the environment of PAM says of label and caller.
  public let environment: [String: String]

  /// For one step of a prompt.
  ///
  /// - Parameter mark: where the person is not asked for the passphrase of the item: a word that nobody knows, by which the
  ///   question for it is told from all others.
  public init(_ request: PromptRequest, at service: PromptStep.Service, mark: String? = nil) {
    purpose = request.purpose
    self.service = service
    let label = PlainText.name(request.label)
    let kind = service == .collection || request.purpose == .loginAdvice ? "collection" : "item"
    subject = label.isEmpty ? "the \(kind)" : "the \(kind) \"\(label)\""
    let caller = PlainText.name(request.caller)
    if let mark {
      ownText = "Passphrase for '\(mark)'"
      environment = ["LATCHKEY_LABEL": mark]
    } else {
      ownText = "Passphrase for '\(label)'" + (caller.isEmpty ? "" : ", wanted by \(caller)")
      environment = ["LATCHKEY_LABEL": label, "LATCHKEY_CALLER": caller]
    }
    isMarked = mark != nil
    // Its own words, and said to be that.
    let reason = PlainText.name(request.reason)
    let says = reason.isEmpty ? "" : " It says: \"\(reason)\""
    let application = caller.isEmpty ? "An application" : "The application \"\(caller)\" (as far as can be told)"
    let wish: String
    switch request.purpose {
    case .item: wish = "to read or change \(subject)\(Wording.again(request.reuse))"
    case .itemAccess: wish = "\(subject) \(PlainText.sentence(request.change)) from now on"
    case .newItemPassphrase: wish = "\(subject) to have a passphrase"
    case .loginAdvice: wish = "\(subject) to have another password"
    case .login, .collection, .newPassphrase, .newVault: wish = "access to your secrets"
    }
    let brings = request.hasPassphrase ? " It has the passphrase already." : ""
    let creates = request.purpose == .newVault ? " \(Wording.creation)" : ""
    detail = "\(application) wants \(wish).\(creates)\(brings)\(says)"
  }

  /// What is said of a client that will not ask again for a while.
  private static func again(_ seconds: UInt16) -> String {
    switch seconds {
    case 0: ""
    case 1: ", and to read it again for a second without asking"
    case 60: ", and to read it again for a minute without asking"
    case let seconds where seconds.isMultiple(of: 60):
      ", and to read it again for \(seconds / 60) minutes without asking"
    default: ", and to read it again for \(seconds) seconds without asking"
    }
  }

  /// Whether something new is chosen.
  private var isNew: Bool { purpose == .newPassphrase || purpose == .newItemPassphrase }

  /// What is said when an answer was refused.
  public var refusal: String {
    if isNew { return "That passphrase was not accepted. Try again." }
    return switch service {
    case .unlock, .presence: "That password is not right. Try again."
    case .biometry: "That was not recognised. Try again."
    case .collection, .item: "That passphrase is not right. Try again."
    }
  }

  /// What is said where there is no vault yet.
  public static let creation = "You have no vault yet: your login password creates it, and unlocks it from then on."

  /// What is said of two answers that differ.
  static let difference = "The two passphrases were not the same. Try again."
  /// What stands before the field for the second time.
  private static let again = "New passphrase again:"
  /// What stands before a bar that shows how hard a new passphrase is to guess.
  static let strength = "Strength:"
  /// What is said of an empty new passphrase.
  static let emptiness = "The passphrase must not be empty."

  /// What PAM modules say when they ask for nothing but the password, without the colon at its end. Everything else
  /// is shown: a code, another device, or in which language ever.
  private static let usual: Set<String> = ["password", "passphrase", "passcode", "new passphrase", "new password"]

  /// Whether this is the question for the item's passphrase, where a program gave that: Latchkey's own module asks it, and no
  /// other one can.
  func isForGiven(_ asked: String) -> Bool { isMarked && service == .item && asked == ownText + ": " }

  /// The question for what a PAM module asks.
  func question(_ asked: String, isVisible: Bool, warning: String) -> PromptText {
    let text = PlainText.sentence(asked)
    var bare = Substring(text)
    while let last = bare.last, last == ":" || last == " " { bare.removeLast() }
    let isUsual = bare.isEmpty || bare == ownText || Wording.usual.contains(bare.lowercased())
    var question = PromptText(
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
        service == .unlock ? "Enter your login password" : "Enter your login password to unlock \(subject)"
      question.label = "Login password:"
    case .collection, .item:
      question.message = isNew ? "Choose a passphrase for \(subject)" : "Enter the passphrase of \(subject)"
      question.label = isNew ? "New passphrase:" : "Passphrase:"
      question.repeatLabel = isNew ? Wording.again : ""
    }
    return question
  }

  /// What a PAM module says, shown by itself.
  func notice(_ text: String) -> PromptText {
    PromptText(
      title: isNew ? "New passphrase" : "Unlock Latchkey", message: text, detail: detail, label: "", button: "")
  }

  /// What the person is told who wants the password of the first collection changed.
  public func advice() -> PromptText {
    var question = PromptText(
      title: "Change password",
      message: "Your login password unlocks \(subject). Change your login password, and the collection follows",
      detail: "\(detail) To do so, use your desktop's settings (Users), or type 'passwd' in a terminal.", label: "",
      button: "Close")
    question.isConfirmation = true
    return question
  }

  /// What the person is to agree to where nothing is to be typed; `text` is what a PAM module says.
  func confirmation(_ text: String = "") -> PromptText {
    var question = PromptText(
      title: "Unlock Latchkey", message: text.isEmpty ? "Allow this" : text, detail: detail, label: "",
      button: text.isEmpty ? "Allow" : "Continue")
    question.isConfirmation = true
    return question
  }

  /// The second question for what is new.
  func repetition(of question: PromptText) -> PromptText {
    var second = question
    second.message = "Enter the new passphrase of \(subject) again"
    second.label = Wording.again
    second.repeatLabel = ""
    second.warning = ""
    return second
  }
}
