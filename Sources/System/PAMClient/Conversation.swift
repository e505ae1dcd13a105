import LatchkeySodium

/// A message or question of a PAM module (`pam_conv(3)`).
public enum ConversationMessage: Equatable, Sendable {
  /// A question whose answer must not be seen.
  case secret(String)
  /// A question whose answer may be seen.
  case visible(String)
  /// Something that went wrong.
  case error(String)
  /// Something to know.
  case info(String)
}

/// The person's side of an authentication.
public protocol Conversation: AnyObject {
  /// Shows one message or question, and gives the answer, without a NUL at its end, to `body`. A question without a call of `body`
  /// ends the authentication; a message needs no answer.
  func answer(_ message: ConversationMessage, _ body: (borrowing SecureBytes) -> Void)

  /// Called after every question was answered, when the module begins to check the answer. The check may take a minute on a slow
  /// machine.
  func check()

  /// The module has checked the last answer.
  func endCheck()
}

extension Conversation {
  /// Shows nothing by default.
  public func check() {}

  /// Shows nothing by default.
  public func endCheck() {}
}
