import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd
import Testing

/// A daemon that starts nothing and records the programs that it should start.
final class Daemon: PromptQueueDelegate {
  var isLockerUp = false
  var open: Set<Question> = []
  var lockedExplicitly: Set<Int64> = []
  var launched: [UInt64] = []
  var cannotLaunch = false
  var needsNobody = false
  var access = AccessControl.none
  var accepted: [Question] = []
  var shown: [PromptSubject] = []
  var answers: [String?] = []
  /// Checks that wait for their answer; nil to answer each check at once.
  var checks: [(PromptEnd?) -> Void]?
  func check(_ question: Question, then: @escaping (PromptEnd?) -> Void) {
    if checks == nil { then(nil) } else { checks?.append(then) }
  }
  func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool {
    open.contains(question) && lifting.isDisjoint(with: lockedExplicitly)
  }
  func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {
    guard needsNobody, question == .login else { return }
    open.insert(.login)
    lockedExplicitly.subtract(lifting)
  }
  var reuse: UInt16 = 0
  func subject(of question: Question) -> PromptSubject {
    if case .collection(let id) = question { return PromptSubject(label: "collection \(id)") }
    return PromptSubject(access: access, reuse: reuse)
  }
  var counts = true
  var asked: [Question] = []
  var ends: [End] = []
  func accepted(
    _ question: Question, for caller: Caller, showing subject: PromptSubject, answer: AnyObject?
  ) -> Bool {
    shown.append(subject)
    accepted.append(question)
    answers.append((answer as? Answer)?.text)
    return counts
  }
  func asked(_ question: Question) { asked.append(question) }
  func ended(_ question: Question, for caller: Caller, _ end: PromptEnd) {
    ends.append(End(question: question, caller: caller.name, end: end))
  }
  func used(_ question: Question, by caller: Caller) {}
  func launchPrompt(_ number: UInt64, failed: @escaping () -> Void) {
    launched.append(number)
    if cannotLaunch { failed() }
  }
}

/// The daemon's report of a question's end.
struct End: Equatable {
  let question: Question
  let caller: String
  let end: PromptEnd
}

/// The result of an answer.
final class Answer {
  let text: String
  init(_ text: String) { self.text = text }
}

/// A clock that only the test advances.
final class Clock {
  var now = ContinuousClock.now
}

/// A stand-in for the program that shows a prompt.
final class Screen: PromptConnection {
  var wasWithdrawn = false
  /// Whether the program takes a while to leave the screen.
  var lingers = false
  var leave: (() -> Void)?
  func withdraw(gone: @escaping () -> Void) {
    wasWithdrawn = true
    if lingers { leave = gone } else { gone() }
  }
}

/// A queue with stand-ins for its daemon, clock and programs.
final class Scene {
  let loop: EventLoop
  let daemon = Daemon()
  let queue: PromptQueue
  var ended: [String] = []
  private let clock: Clock

  init(placeLimit: Duration = .seconds(30)) throws {
    loop = try EventLoop()
    let clock = Clock()
    self.clock = clock
    queue = PromptQueue(loop: loop, delegate: daemon, placeLimit: placeLimit) { clock.now }
  }

  func pass(_ time: Duration) { clock.now += time }

  /// Runs the loop until `count` prompts were started.
  func turn(untilLaunched count: Int) {
    for _ in 0..<1000 where daemon.launched.count < count { _ = try? loop.runOnce(timeout: .seconds(1)) }
  }

  /// Runs the loop until `count` clients were told of an end.
  func turn(until count: Int) {
    for _ in 0..<1000 where ended.count < count { _ = try? loop.runOnce(timeout: .seconds(1)) }
  }

  func ask(
    _ question: Question, _ name: String, lifting: Set<Int64> = [], for caller: Caller = .unknown,
    passphrase: GivenPassphrase? = nil
  ) -> PromptTicket {
    queue.ask(question, lifting: lifting, for: caller, passphrase: passphrase) { [unowned self] in ended.append(name) }
  }

  /// Shows the prompt that was started last.
  func show() throws -> (screen: Screen, request: PromptRequest) {
    let screen = Screen()
    let number = try #require(daemon.launched.last)
    return (screen, try #require(queue.show(number, on: screen)))
  }
}
