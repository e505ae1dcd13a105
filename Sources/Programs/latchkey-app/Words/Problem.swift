import LatchkeyControl
import LatchkeyGettext
import LatchkeyReasons
import LatchkeySecretClient
import LatchkeySystemd

/// A failure, in words for a person.
struct Problem: Error, Equatable {
  let text: String

  init(_ text: String) { self.text = ShownText.sentence(text) }

  init(_ error: BusError) {
    if error.isStandard("NoReply") || error.isStandard("Disconnected") || error.isStandard("ServiceUnknown")
      || error.isStandard("NameHasNoOwner")
    {
      text = translated("The vault's program does not answer. The window goes on when it does.")
    } else {
      text = ShownText.sentence(Reason(encoded: error.detail)?.phrase.translated ?? error.message)
    }
  }

  init(_ failure: ConnectionFailure) {
    text =
      switch failure {
      case .noBus: translated("There is no session bus. Log in again.")
      case .notRunning: translated("No vault is running, and it could not be started. The page Health says why.")
      case .stranger: translated("Another user's program keeps the secrets of this session. The page Health says more.")
      case .otherService:
        translated("Another program keeps the secrets of this session. The page Moving in makes Latchkey the one.")
      case .broken(let error): Problem(error).text
      }
  }

  init(_ error: ControlError) {
    text =
      switch error {
      case .declined(let reason): reason.phrase.translated
      case .otherVersion, .givesWay:
        translated("The vault's program is of another version. Log out and in again.")
      default: translated("The vault's program does not answer. The window goes on when it does.")
      }
  }
}
