/// How a prompt ended for the program that caused it: the words of `org.latchkey.Prompt`'s signal `Ended`.
public enum PromptOutcome: String, CaseIterable, Sendable {
  /// The program got the thing it wanted.
  case accepted
  /// The person declined.
  case dismissed
  /// The person's answers were wrong, as often as allowed.
  case refused
  /// There were too many wrong answers, over all prompts together, so prompts pause for a while.
  case paused
  /// Nobody could be asked.
  case unavailable
  /// Nobody answered in time.
  case expired
  /// Other fingers are enrolled than the item requires, or the enrolled fingers are unknown.
  case fingers
  /// The vault withdrew the prompt, as at a lock.
  case withdrawn
  /// The person's password was right, but the disk is too full for the vault that it would create.
  case full
  /// Another item has the same primary key by now.
  case duplicate
}
