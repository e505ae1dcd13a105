import LatchkeyGettext
import LatchkeyPrompters
import LatchkeySecurityKeys

/// The words of a prompt about a security key.
enum SecurityKeyWording {
  /// The offer beside the question for the password.
  static var offer: String { translated("Leave the field empty to use your security key.") }

  private static var title: String { translated("Unlock Latchkey") }

  /// The question for the PIN; `detail` says who wants access.
  static func pin(_ detail: String) -> PromptText {
    PromptText(
      title: title, message: translated("Enter the PIN of your security key, then touch the key"),
      detail: detail + " " + translated("Leave the field empty to use your login password."), label: translated("PIN:"),
      button: translated("Continue"))
  }

  /// The text that is shown until the key waits for a touch.
  static var work: PromptText {
    PromptText(title: title, message: translated("Waiting for your security key."), label: "", button: "")
  }

  /// The text while the key waits.
  static var touch: PromptText {
    PromptText(title: title, message: translated("Touch your security key."), label: "", button: "")
  }

  /// The reason why a key did not unlock the vault, for the prompt that asks for the password.
  static func sentence(_ outcome: SecurityKeyOutcome, triesLeft: Int?) -> String {
    switch outcome {
    case .absent: translated("No security key was found. Connect it, and leave the field empty again.")
    case .several: translated("Several security keys are connected. Leave only the one that you want to use.")
    case .incapable: translated("This security key cannot unlock the vault: it lacks a part of FIDO2.")
    case .noPIN: translated("This security key has no PIN. It unlocks the vault only with one.")
    case .wrongPIN: wrongPIN(triesLeft)
    case .pausedPIN:
      translated("The PIN was wrong too often. Pull the security key out, and connect it again.")
    case .blockedPIN: translated("The security key is blocked, because its PIN was wrong too often.")
    case .stranger: translated("This security key does not unlock this vault.")
    case .notTouched: translated("Nobody touched the security key in time.")
    case .removed: translated("The security key was pulled out.")
    case .busy: translated("The security key does not answer. Another program may be using it, such as a browser.")
    case .done, .enrolled, .failed: failure
    }
  }

  /// The sentence for a right key and a vault that is still locked; the log says more.
  static var failure: String { translated("The security key did not unlock the vault. The system log says why.") }

  /// The sentence about a PIN that no key can have.
  static var impossiblePIN: String { translated("No security key has such a PIN: it is too long.") }

  private static func wrongPIN(_ triesLeft: Int?) -> String {
    guard let triesLeft else { return translated("That is not the PIN of the security key.") }
    return translated(
      UInt64(triesLeft), one: "That is not the PIN of the security key. One try is left until the key is blocked.",
      other: "That is not the PIN of the security key. \(triesLeft) tries are left until the key is blocked.")
  }
}
