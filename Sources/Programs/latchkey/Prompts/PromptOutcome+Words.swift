import LatchkeyGettext
import LatchkeyItemProtection

extension PromptOutcome {
  /// The reason why a right password creates no vault, as the rest of a sentence.
  static var fullDisk: String { translated("the disk is too full to create the vault") }

  /// The end of an unsuccessful prompt, as the rest of a sentence.
  ///
  /// - Parameter outcome: nil if the outcome is unknown.
  static func words(_ outcome: PromptOutcome?) -> String {
    switch outcome {
    case .dismissed: translated("you cancelled the prompt")
    case .refused: translated("the answers were wrong")
    case .paused: translated("after too many wrong passphrases, prompts for this passphrase pause for 30 seconds")
    case .expired: translated("nobody answered the prompt in time")
    case .unavailable: translated("no prompt could be shown, or PAM refused to ask, as after too many wrong answers")
    case .withdrawn: translated("the prompt was withdrawn, because of a lock or another change")
    case .full: fullDisk
    case .fingers: translated("other fingers are enrolled than it requires, or they are not known")
    case .accepted, .duplicate, nil: translated("the prompt was not answered, or no prompt could be shown")
    }
  }
}
