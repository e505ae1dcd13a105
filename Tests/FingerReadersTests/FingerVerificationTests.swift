import LatchkeyFingerReaders
import LatchkeyPosix
import LatchkeyPrivateBus
import LatchkeySystemd
import Testing

/// A reader on a private bus, and one verification of a finger.
private final class Attempt {
  let daemon: PrivateBus
  let loop: EventLoop
  let reader: FakeReader
  private var verification: FingerVerification?
  private(set) var steps: [FingerVerification.Step] = []
  private(set) var outcomes: [FingerVerification.Outcome] = []

  init(_ user: String = "anna", timeLimit: Duration = .seconds(60), prepare: (FakeReader) -> Void = { _ in }) throws {
    daemon = try PrivateBus()
    loop = try EventLoop()
    reader = try FakeReader(daemon, loop)
    prepare(reader)
    verification = FingerVerification(
      of: user, tries: 3, loop: loop, address: .address(daemon.address), timeLimit: timeLimit)
    verification?.start { [weak self] in
      self?.steps.append($0)
    } ended: { [weak self] in
      self?.outcomes.append($0)
    }
    #expect(steps.isEmpty && outcomes.isEmpty, "told before the call returned")
  }

  /// Waits until the person got this many messages.
  func told(_ count: Int) throws { try loop.run(until: "step \(count)") { steps.count >= count } }

  func ending() throws -> FingerVerification.Outcome {
    try loop.run(until: "an outcome") { !outcomes.isEmpty }
    try loop.run(for: .milliseconds(20))
    #expect(outcomes.count == 1)
    return outcomes[0]
  }

  func cancel() { verification?.cancel() }
  func drop() { verification = nil }
}

@Suite("A finger that fprintd verifies", .timeLimit(.minutes(20)))
struct FingerVerificationTests {
  @Test("One touch: the reader is claimed for the user, and released before the outcome is reported")
  func match() throws {
    let attempt = try Attempt()
    try attempt.told(1)
    let before = Process.microsecondsSinceBoot
    try attempt.reader.touch("verify-match")
    let outcome = try attempt.ending()
    guard case .matched(let moment) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect((before...Process.microsecondsSinceBoot).contains(moment))
    #expect(attempt.steps == [.place(isSwipe: false)])
    #expect(attempt.reader.calls == ["Claim anna", "VerifyStart any", "VerifyStop", "Release"])
  }

  @Test("Wrong fingers are counted, but touches that the reader did not recognise are not")
  func tries() throws {
    let attempt = try Attempt()
    var count = 1
    for word in ["verify-retry-scan", "verify-no-match", "verify-swipe-too-short", "verify-no-match"] {
      try attempt.told(count)
      // Only some of these words end a try.
      try attempt.reader.touch(word, isDone: word == "verify-no-match")
      count += word == "verify-no-match" ? 2 : 1
    }
    try attempt.told(count)
    try attempt.reader.touch("verify-no-match")
    #expect(try attempt.ending() == .refused)
    #expect(
      attempt.steps == [
        .place(isSwipe: false), .again("verify-retry-scan"), .noMatch, .place(isSwipe: false),
        .again("verify-swipe-too-short"), .noMatch, .place(isSwipe: false),
      ])
    #expect(attempt.reader.calls.filter { $0 == "VerifyStart any" }.count == 3)
    #expect(attempt.reader.calls.suffix(2) == ["VerifyStop", "Release"])
  }

  @Test("Only the process that has the reader can report a match")
  func stranger() throws {
    let attempt = try Attempt()
    try attempt.told(1)
    let other = try attempt.daemon.connect(attempt.loop)
    try attempt.reader.touch("verify-match", as: other)
    // The other process sends to each connection directly, because no match rule filters such messages.
    for number in 0..<20 { try attempt.reader.touch("verify-match", as: other, to: ":1.\(number)") }
    other.flush()
    try attempt.loop.run(for: .milliseconds(200))
    // A message of the reader itself arrives after the forged ones, so those have arrived too.
    try attempt.reader.touch("verify-retry-scan", isDone: false)
    try attempt.told(2)
    #expect(attempt.outcomes.isEmpty)
    attempt.cancel()
    #expect(try attempt.ending() == .givenUp)
  }

  @Test("Without fingers, with a busy reader or without fprintd, the verification ends at once")
  func unable() throws {
    #expect(try Attempt("bob").ending() == .noFingers)
    let busy = try Attempt { $0.isBusy = true }
    #expect(try busy.ending() == .busy && busy.steps.isEmpty)
    let gone = try Attempt()
    try gone.told(1)
    try gone.reader.touch("verify-disconnected")
    #expect(try gone.ending() == .unavailable(.noReader))
    let daemon = try PrivateBus()
    let loop = try EventLoop()
    let verification = FingerVerification(of: "anna", tries: 3, loop: loop, address: .address(daemon.address))
    var outcomes: [FingerVerification.Outcome] = []
    verification.start { _ in
    } ended: {
      outcomes.append($0)
    }
    try loop.run(until: "an outcome") { !outcomes.isEmpty }
    #expect(outcomes == [.unavailable(.noService)])
  }

  @Test(
    "A verification ends at its timeout or cancellation, even if fprintd keeps the reader, and ignores later touches"
  )
  func limits() throws {
    let late = try Attempt(timeLimit: .milliseconds(300)) { $0.keepsReader = true }
    #expect(try late.ending() == .givenUp)
    let attempt = try Attempt { $0.keepsReader = true }
    try attempt.told(1)
    attempt.cancel()
    try attempt.loop.run(until: "the release") { attempt.reader.calls.contains("Release") }
    try attempt.reader.touch("verify-match")
    #expect(try attempt.ending() == .givenUp)
  }
}
