import LatchkeyControl

/// A way to unlock the vault beside the one that a PAM stack asks for. The person chooses it by an empty answer.
public protocol OtherWay: AnyObject {
  /// The sentence beside the question that offers this way; nil if it is not offered at that place.
  func offer(at place: PromptPlace) -> String?

  /// Asks the person by `prompter`, and unlocks the vault.
  ///
  /// - Parameter detail: the sentences that say who wants access, the same as beside the question for the password.
  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd
}

/// How another way ended.
public enum OtherWayEnd: Equatable, Sendable {
  /// The vault is unlocked.
  case unlocked
  /// The vault stays locked. The sentence says why, and is shown beside the next question.
  case failed(String)
  /// The person declined, or the time was up.
  case dismissed
  /// Nobody can be asked.
  case unavailable
}
