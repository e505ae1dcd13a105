import LatchkeyControl
import LatchkeyPosix
import LatchkeyReasons
import Testing

@testable import LatchkeySessionState

/// A lock or a logout that is later than the password.
extension SessionWatchTests {
  /// The locker came while Argon2id took its time, and nothing was heard of it before the keys came.
  @Test func aLockerThatCameMeanwhileIsNotLifted() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    var claim: Claim?
    scene.watch.claim(by: .unknown) { claim = $0 }
    try scene.loop.run(until: "the claim") { claim != nil }
    scene.logind.setSilently(x(1, hint: true))
    var outcome: KeyOutcome?
    scene.watch.keysArrived(mayLift: true, by: try #require(claim)) { outcome = $0 }
    try scene.loop.run(until: "keys") { outcome != nil }
    #expect(outcome == .refused(.session(.lockedMeanwhile)))
  }

  /// Whatever comes while logind is asked at the beginning is later than the password, but what logind then knows of.
  @Test func aLockWhileLogindIsAskedAtTheBeginningIsNotLifted() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    func outcome(meanwhile: () throws -> Void) throws -> KeyOutcome? {
      var outcome: KeyOutcome?
      scene.watch.claim(by: .unknown) { [watch = scene.watch] claim in
        watch.keysArrived(mayLift: true, by: claim) { outcome = $0 }
      }
      try meanwhile()
      try scene.loop.run(until: "keys") { outcome != nil }
      return outcome
    }
    let late = KeyOutcome.refused(.session(.lockedMeanwhile))
    #expect(try outcome { scene.watch.lock() } == late)
    #expect(try outcome { try scene.logind.lock("1") } == late)
    #expect(
      try outcome {
        try scene.logind.prepareForSleep(true)
        try scene.logind.prepareForSleep(false)
      } == late)
    // Nobody was told of this one.
    #expect(try outcome { scene.logind.setSilently(x(1, hint: true)) } == .staged)
  }

  /// The helper was starved, and told of itself only after the lock.
  @Test func aLockBetweenThePasswordAndItsHelloIsNotLifted() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    func outcomes(_ event: (Int) throws -> Void) throws -> [KeyOutcome?] {
      scene.watch.lock()
      let (given, locks) = (Process.microsecondsSinceBoot, scene.daemon.locks)
      try event(locks)
      try scene.loop.run(until: "the lock") { scene.daemon.locks > locks && !scene.watch.machine.isGoingToSleep }
      return [
        try scene.keysArrive(given: given), try scene.keysArrive(given: 0),
        // A password that was given after the lock lifts it, even at a time in the future.
        try scene.keysArrive(given: Process.microsecondsSinceBoot + 3_600_000_000),
      ]
    }
    let expected: [KeyOutcome?] = [.refused(.session(.lockedMeanwhile)), .refused(.session(.lockedMeanwhile)), .live]
    #expect(try outcomes { _ in scene.watch.lock() } == expected)
    #expect(try outcomes { _ in try scene.logind.lock("1") } == expected)
    #expect(
      try outcomes { locks in
        try scene.logind.prepareForSleep(true)
        try scene.loop.run(until: "the sleep") { scene.daemon.locks > locks }
        try scene.logind.prepareForSleep(false)
      } == expected)
    #expect(
      try outcomes { locks in
        try scene.logind.set(x(1, hint: true))
        try scene.loop.run(until: "the locker") { scene.daemon.locks > locks }
        try scene.logind.set(x(1))
        try scene.loop.run(until: "the locker to go") { !scene.watch.machine.lockerUp }
      } == expected)
  }

  @Test func aLogoutBetweenThePasswordAndItsHelloWins() throws {
    let scene = try Scene(sessions: x(1), x(2))
    #expect(try scene.keysArrive() == .live)
    func refusal(given: UInt64, from session: String) throws -> Reason? {
      var refusal: Reason??
      let process = PeerProcess.session(id: session, uid: 1000, sessionClass: "user", type: "x11", isRemote: false)
      scene.watch.claim(by: process, given: given) { refusal = scene.watch.machine.refusal(of: $0) }
      try scene.loop.run(until: "the claim") { refusal != nil }
      return refusal ?? nil
    }
    let ended = Reason.session(.sessionEnded)
    let first = Process.microsecondsSinceBoot
    try scene.logind.end("2")
    try scene.loop.run(until: "the end") { scene.watch.machine.knownSessions == ["1"] }
    let second = Process.microsecondsSinceBoot
    #expect(try refusal(given: first, from: "2") == ended)
    #expect(try refusal(given: first, from: "1") == nil)
    // A process that outlived its session may take a password, as in tmux.
    #expect(try refusal(given: second, from: "2") == nil)
    try scene.logind.end("1")
    try scene.loop.run(until: "the last end") { scene.watch.machine.state == .sealed }
    #expect(try scene.keysArrive(given: second) == .refused(ended))
    #expect(try scene.keysArrive(given: Process.microsecondsSinceBoot) == .live)
  }

  /// What only logind's answer tells has no time. It is older than a password that was given just now, and no other.
  @Test(arguments: [true, false]) func aLockOfUnknownTimeIsNotLiftedByAnOldPassword(isOld: Bool) throws {
    let scene = try Scene(sessions: x(1))
    try scene.loop.run(until: "logind") { scene.watch.machine.logind == .present }
    scene.logind.setSilently(x(1, hint: true))
    let now = Process.microsecondsSinceBoot
    let outcome = try scene.keysArrive(given: isOld ? now - Hello.unknownTime - 1 : now)
    #expect(outcome == (isOld ? .firstUnlockOnly : .staged))
  }

  /// Such a daemon knows of no lock that came before it began.
  @Test func aDaemonThatBeganLongAfterThePasswordWantsNoKeys() throws {
    let begun = Process.microsecondsSinceBoot
    let scene = try Scene(sessions: x(1), begun: begun)
    func isLate(_ given: UInt64?) throws -> Bool? {
      var isLate: Bool?
      scene.watch.claim(by: .unknown, given: given) { isLate = $0.isLate }
      try scene.loop.run(until: "the claim") { isLate != nil }
      return isLate
    }
    #expect(try isLate(begun - Hello.unknownTime - 1) == true)
    #expect(try isLate(0) == true)
    #expect(try isLate(begun - Hello.unknownTime) == false)
    #expect(try isLate(begun) == false)
    #expect(try isLate(.max) == false)
    #expect(try isLate(nil) == false)
  }

  /// The lock came while logind was asked: it is later than the password.
  @Test func aLockWhileKeysWaitIsNotUndoneByThem() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    func outcome(meanwhile: () throws -> Void) throws -> KeyOutcome? {
      var outcome: KeyOutcome?
      scene.watch.keysArrived(mayLift: true, by: scene.claim) { outcome = $0 }
      try meanwhile()
      try scene.loop.run(until: "keys") { outcome != nil }
      return outcome
    }
    let late = KeyOutcome.refused(.session(.lockedMeanwhile))
    #expect(try outcome { scene.watch.lock() } == late)
    #expect(try outcome { try scene.logind.lock("1") } == late)
    #expect(
      try outcome {
        try scene.logind.prepareForSleep(true)
        try scene.logind.prepareForSleep(false)
      } == .refused(.session(.goingToSleep)))
    try scene.loop.run(until: "awake") { !scene.watch.machine.isGoingToSleep }
    #expect(scene.watch.machine.state == .locked(.command))
    #expect(try outcome {} == .live)
  }

  /// Keys may wait for more than logind. A lock that comes meanwhile is later than they are, and is not held up.
  @Test func aLockWhileKeysWaitForAPreparationIsNotUndoneByThem() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    var outcome: KeyOutcome?
    var goOn: () -> Void = {}
    scene.watch.keysArrived(mayLift: true, by: scene.claim, after: { goOn = $0 }) { outcome = $0 }
    // Logind has answered.
    var answered = false
    scene.watch.keysArrived(mayLift: false, by: scene.claim) { _ in answered = true }
    try scene.loop.run(until: "logind's answer") { answered }
    #expect(outcome == nil)
    // Not when the preparation is through: until then A would be in memory behind a lock.
    scene.watch.lock()
    #expect(outcome == .refused(.session(.lockedMeanwhile)))
    outcome = nil
    goOn()
    #expect(outcome == nil)
  }
}
