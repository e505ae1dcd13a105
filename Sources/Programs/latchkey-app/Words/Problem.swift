import LatchkeyAdwaita
import LatchkeyControl
import LatchkeyGettext
import LatchkeyReasons
import LatchkeySecretClient
import LatchkeySystemd

/// A failure, in words for a person.
struct Problem: Error, Equatable {
  let text: String
  /// The page that helps; nil if none does.
  let page: PageName?

  init(_ text: String, page: PageName? = nil) { (self.text, self.page) = (ShownText.sentence(text), page) }

  init(_ error: BusError) {
    page = nil
    if error.isStandard("NoReply") || error.isStandard("Disconnected") || error.isStandard("ServiceUnknown")
      || error.isStandard("NameHasNoOwner")
    {
      text = translated("The vault's program does not answer. The window goes on when it does.")
    } else {
      text = ShownText.sentence(Reason(encoded: error.detail)?.phrase.translated ?? error.message)
    }
  }

  init(_ failure: ConnectionFailure) {
    page =
      switch failure {
      case .notRunning, .stranger: .health
      case .otherService: .movingIn
      case .noBus, .broken: nil
      }
    text =
      switch failure {
      case .noBus: translated("There is no session bus. Log in again.")
      case .notRunning: translated("No vault is running, and it could not be started. The page Health says why.")
      case .stranger: translated("Another user's program keeps the secrets of this session. The page Health says more.")
      case .otherService:
        translated("Another program keeps the secrets of this session. The page Moving In changes that.")
      case .broken(let error): Problem(error).text
      }
  }

  init(_ error: ControlError) {
    page = nil
    text =
      switch error {
      case .declined(let reason): reason.phrase.translated
      case .otherVersion, .givesWay:
        translated("The vault's program is of another version. Log out and in again.")
      default: translated("The vault's program does not answer. The window goes on when it does.")
      }
  }
}

extension Window {
  /// Shows a failure for some seconds, with a button for the page that helps.
  func tell(_ problem: Problem) { tell(problem.text, problem.page) }

  /// Shows a text for some seconds, with a button that leads to a page.
  func tell(_ text: String, _ page: PageName?) {
    // The application has an action for each page, so the button can open it by name.
    tell(text, button: page.map { ($0.title, "app.\($0.rawValue)") })
  }
}
