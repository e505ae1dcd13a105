/// How a prompt ended for the program that wanted it: the words of `org.latchkey.Prompt`'s signal `Ended`.
public enum PromptOutcome: String, CaseIterable, Sendable {
  /// The program has what it wanted.
  case accepted
  /// The person wanted none of it.
  case dismissed
  /// The person's answers were wrong, as often as allowed.
  case refused
  /// Nobody could be asked, or nobody answered.
  case unavailable
  /// Other fingers are enrolled than the item requires, or nobody says which ones are.
  case fingers
  /// The vault took the prompt away, as at a lock.
  case withdrawn
  /// Another item has the same primary key by now.
  case duplicate
}
