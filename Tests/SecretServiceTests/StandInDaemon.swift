import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeyVault

/// A daemon that starts nothing and records the programs that it should start.
final class StandInDaemon: PromptQueueDelegate, SecretServiceDelegate {
  var isLockerUp = false
  var launched: [UInt64] = []
  /// The end of a question before anybody is asked; nil to ask the person.
  var obstacle: PromptEnd?
  /// The daemon's decision about an answer that PAM accepted.
  var accept: (Question, Caller) -> Bool = { _, _ in true }
  func defaultClass(for attributes: [String: String]) -> AccessibilityClass { .whenUnlocked }
  func lookAgain() {}
  func presentFingers(_ answer: @escaping (Result<FingerSet, VaultError>) -> Void) {
    answer(.failure(.noFingers(.verbatim(""))))
  }
  func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {}
  func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool { false }
  func subject(of question: Question) -> PromptSubject { PromptSubject() }
  func check(_ question: Question, then: @escaping (PromptEnd?) -> Void) { then(obstacle) }
  func accepted(
    _ question: Question, for caller: Caller, showing subject: PromptSubject, answer: AnyObject?
  ) -> Bool { accept(question, caller) }
  func asked(_ question: Question) {}
  func ended(_ question: Question, for caller: Caller, _ end: PromptEnd) {}
  func used(_ question: Question, by caller: Caller) {}
  func launchPrompt(_ number: UInt64, failed: @escaping () -> Void) { launched.append(number) }
}
