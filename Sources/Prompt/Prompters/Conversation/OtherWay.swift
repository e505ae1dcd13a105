/// A way to unlock the vault beside the one that a PAM stack asks for. The person chooses it by an empty answer.
public protocol OtherWay: AnyObject {
  /// The sentence that offers it, beside the question.
  var offer: String { get }

  /// Asks by `prompter` for what the way needs, and unlocks the vault.
  ///
  /// - Parameter detail: the sentences that say who wants access, as beside the question for the password.
  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd
}

/// How another way ended.
public enum OtherWayEnd: Equatable, Sendable {
  /// The vault is unlocked.
  case unlocked
  /// It did not unlock the vault. The sentence says why, and stands beside the question that follows.
  case failed(String)
  /// The person declined, or the time was up.
  case dismissed
  /// Nobody can be asked.
  case unavailable
}
