/// How a prompt ended: the same for the queue of prompts, the program that shows one, and the access log, whose codes these
/// are.
public enum PromptEnd: UInt8, CaseIterable, Sendable {
  /// PAM accepted the answer. If the queue says so, the answer also counted.
  case granted = 1
  /// The person's answers were wrong, as often as one may try.
  case refused = 3
  /// The person declined.
  case dismissed = 4
  /// Nobody could be asked.
  case unavailable = 5
  /// Keys were erased meanwhile.
  case locked = 6
  /// PAM accepted the answer, but the item was deleted or changed meanwhile, or no answer is needed any more.
  case outdated = 7
  /// The program that caused the prompt does not wait any more.
  case withdrawn = 8
  /// Nobody answered in time.
  case expired = 9
  /// The program that showed the prompt ended without a result.
  case broken = 10
  /// The enrolled fingers differ from the fingers that the item requires, or are unknown.
  case fingers = 13
}
