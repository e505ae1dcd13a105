/// How a question came to its end.
public enum PromptEnd: Equatable, Sendable {
  /// PAM accepted what the person gave, and it counted.
  case granted
  /// PAM accepted it, but there is nothing any more that it could count for; or nobody need be asked any more.
  case outdated
  /// What was given was wrong, as often as one may try.
  case refused
  /// The person wanted none of it.
  case dismissed
  /// Nobody could be asked.
  case unavailable
  /// What showed it ended without a word.
  case broken
  /// Who asked does not wait any more.
  case withdrawn
  /// Nobody answered in time.
  case expired
  /// Keys were erased.
  case locked
  /// Other fingers are enrolled than the item asks for, or nobody tells which ones are.
  case fingers
}
