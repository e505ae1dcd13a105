import LatchkeyControl
import LatchkeyGettext

/// The words of a prompt. Labels, names and the messages of PAM modules are made safe to show.
public struct PromptWording: Sendable {
  /// The purpose of the prompt.
  let purpose: PromptRequest.Purpose
  /// The PAM service that asks.
  private let service: PromptStep.Service
  /// The collection or item, quoted.
  private let subject: String
  let detail: String
  /// The question that Latchkey's own module asks by default. It names the item and the application.
  private let ownText: String
  private let isMarked: Bool
  /// The sentences that offer another way to unlock, by the place of the prompt.
  private let offers: [PromptPlace: String]
  /// The label and the caller, for the PAM environment.
  public let environment: [String: String]

  /// The words of one step of a prompt.
  ///
  /// - Parameter mark: a random word that marks the question for the item's passphrase, if a program answers this question instead
  ///   of the person.
  /// - Parameter script: the program that the caller's interpreter runs, if its arguments tell.
  /// - Parameter offers: the sentences that offer another way to unlock, beside the question for the login password, by the place
  ///   of the prompt.
  public init(
    _ request: PromptRequest, at service: PromptStep.Service, mark: String? = nil, script: String? = nil,
    offers: [PromptPlace: String] = [:]
  ) {
    purpose = request.purpose
    self.offers = offers
    self.service = service
    let label = PlainText.name(request.label)
    subject = PromptWording.subject(label, isCollection: service == .collection || request.purpose == .loginAdvice)
    let caller = PlainText.name(request.caller)
    if let mark {
      ownText = "Passphrase for '\(mark)'"
      environment = ["LATCHKEY_LABEL": mark]
    } else {
      ownText = "Passphrase for '\(label)'" + (caller.isEmpty ? "" : ", wanted by \(caller)")
      environment = ["LATCHKEY_LABEL": label, "LATCHKEY_CALLER": caller]
    }
    isMarked = mark != nil
    let shown = script.map { translated("\(caller), running '\(PlainText.word($0))'") } ?? caller
    // The program's own words, in quotation marks.
    let reason = PlainText.name(request.reason)
    // The next sentences begin with this subject.
    let application =
      caller.isEmpty
      ? translated("An application") : translated("The application \"\(shown)\" (as far as can be told)")
    var sentences: [String]
    switch request.purpose {
    case .item: sentences = [PromptWording.reading(application, subject, again: request.reuse)]
    case .itemAccess:
      let change = ChangeWords.clauses(PlainText.sentence(request.change))
      // The consequence comes first, because a program chooses its names, and they may be long.
      sentences = [
        translated("If you agree, \(subject) is \(change) from now on."), translated("\(application) wants this."),
      ]
    case .newItemPassphrase: sentences = [translated("\(application) wants \(subject) to have a passphrase.")]
    case .loginAdvice: sentences = [translated("\(application) wants \(subject) to have another password.")]
    case .login, .collection, .newPassphrase, .newVault:
      sentences = [translated("\(application) wants access to your secrets.")]
    }
    if request.purpose == .newVault { sentences.append(PromptWording.creation) }
    if request.hasPassphrase { sentences.append(translated("The application has the passphrase already.")) }
    if !reason.isEmpty { sentences.append(translated("It says: \"\(reason)\"")) }
    detail = sentences.joined(separator: " ")
  }

  /// The collection or item, as a part of a sentence.
  private static func subject(_ label: String, isCollection: Bool) -> String {
    switch (isCollection, label.isEmpty) {
    case (true, true): translated("the collection")
    case (true, false): translated("the collection \"\(label)\"")
    case (false, true): translated("the item")
    case (false, false): translated("the item \"\(label)\"")
    }
  }

  /// The sentence about a client that wants to read an item. It also says for how long the client need not ask again.
  private static func reading(_ application: String, _ subject: String, again seconds: UInt16) -> String {
    if seconds == 0 { return translated("\(application) wants to read or change \(subject).") }
    let minutes = seconds / 60
    return seconds.isMultiple(of: 60)
      ? translated(
        minutes,
        one:
          "\(application) wants to read or change \(subject), and to read it again for a minute without asking.",
        other:
          "\(application) wants to read or change \(subject), and to read it again for \(minutes) minutes without asking."
      )
      : translated(
        seconds,
        one:
          "\(application) wants to read or change \(subject), and to read it again for a second without asking.",
        other:
          "\(application) wants to read or change \(subject), and to read it again for \(seconds) seconds without asking."
      )
  }

  /// The title of most prompts.
  private static var unlocking: String { translated("Unlock Latchkey") }

  /// Whether something new is chosen.
  private var isNew: Bool { purpose == .newPassphrase || purpose == .newItemPassphrase }

  /// The sentence after a refused answer.
  public var refusal: String {
    if isNew { return translated("That passphrase was not accepted. Try again.") }
    return switch service {
    case .unlock, .presence: translated("That password is not right. Try again.")
    case .biometry: translated("That was not recognised. Try again.")
    case .collection, .item: translated("That passphrase is not right. Try again.")
    }
  }

  /// The sentences for a user without a vault. Whether the account has a password is not known here.
  public static var creation: String {
    translated(
      "You have no vault yet. Your login password, if your account has one, creates it and unlocks it from then on.")
  }

  /// The sentence after two answers that differ.
  static var difference: String { translated("The two passphrases were not the same. Try again.") }
  /// The same sentence for two fields in one window.
  static var differenceOfFields: String {
    translated("The two passphrases were not the same. Tab goes to the second field.")
  }
  /// The text before the field when the person types the passphrase again.
  private static var again: String { translated("New passphrase again:") }
  /// The text before a bar that shows how hard a new passphrase is to guess.
  static var strength: String { translated("Strength:") }
  /// The sentence after an empty new passphrase.
  static var emptiness: String { translated("The passphrase must not be empty.") }
  /// The text of the button that dismisses the prompt.
  static var cancel: String { translated("Cancel") }

  /// Usual questions of PAM modules for a password, without the colon at the end. Our own words replace them. Any other question,
  /// such as one for a code, is shown as it is.
  private static let usual: Set<String> = ["password", "passphrase", "passcode", "new passphrase", "new password"]

  /// Whether a module asks for an item's passphrase that a program has given. Only Latchkey's own module knows the mark in this
  /// question.
  func isForGiven(_ asked: String) -> Bool { isMarked && service == .item && asked == ownText + ": " }

  /// The text for a PAM module's question.
  func question(_ asked: String, isVisible: Bool, warning: String) -> PromptText {
    let text = PlainText.sentence(asked)
    var bare = Substring(text)
    while let last = bare.last, last == ":" || last == " " { bare.removeLast() }
    let isUsual = bare.isEmpty || bare == ownText || PromptWording.usual.contains(bare.lowercased())
    var question = PromptText(
      title: PromptWording.unlocking, message: String(bare), detail: detail, warning: warning, label: "\(bare):",
      button: translated("Unlock"), isVisible: isVisible, isNew: isNew && !isVisible)
    if isNew {
      question.title = translated("New passphrase")
      question.button = translated("Continue")
    }
    // The module asks as for an existing passphrase. But the person chooses a new one here, so our words replace the question.
    guard isUsual || (purpose == .newItemPassphrase && !isVisible) else { return question }
    switch service {
    case .unlock, .presence, .biometry:
      question.message =
        service == .unlock
        ? translated("Enter your login password") : translated("Enter your login password to unlock \(subject)")
      question.label = translated("Login password:")
      if service == .unlock, !isVisible { question.offers = offers }
    case .collection, .item:
      question.message =
        isNew ? translated("Choose a passphrase for \(subject)") : translated("Enter the passphrase of \(subject)")
      question.label = isNew ? translated("New passphrase:") : translated("Passphrase:")
      question.repeatLabel = isNew ? PromptWording.again : ""
    }
    return question
  }

  /// A PAM module's message, shown by itself.
  func notice(_ text: String) -> PromptText {
    PromptText(
      title: isNew ? translated("New passphrase") : PromptWording.unlocking, message: text, detail: detail, label: "",
      button: "")
  }

  /// The advice to a person who wants to change the password of the default collection.
  public func advice() -> PromptText {
    var question = PromptText(
      title: translated("Change password"),
      message: translated(
        "Your login password unlocks \(subject). Change your login password, and the collection follows"),
      detail: detail + " "
        + translated("To do so, use your desktop's settings (Users), or type 'passwd' in a terminal."),
      label: "", button: translated("Close"))
    question.isConfirmation = true
    return question
  }

  /// The sentence that the person agrees to without typing; `text` is a PAM module's message.
  func confirmation(_ text: String = "") -> PromptText {
    var question = PromptText(
      title: PromptWording.unlocking, message: text.isEmpty ? translated("Allow this") : text, detail: detail,
      label: "",
      button: text.isEmpty ? translated("Allow") : translated("Continue"))
    question.isConfirmation = true
    return question
  }

  /// The second question for a new passphrase.
  func repetition(of question: PromptText) -> PromptText {
    var second = question
    second.message = translated("Enter the new passphrase of \(subject) again")
    second.label = PromptWording.again
    second.repeatLabel = ""
    second.warning = ""
    return second
  }
}
