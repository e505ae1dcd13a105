import LatchkeyControl
import LatchkeyPosix
import LatchkeyReasons
import Testing

@testable import LatchkeySessionState

/// A lock or a logout that comes after the password.
extension SessionWatchTests {
  /// The locker came while Argon2id ran, and the watch heard of it only after the keys.
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

  /// Every lock that comes during the first question to logind is later than the password, except a lock in logind's answer.
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
    // logind sent no signal for the lock.
    #expect(try outcome { scene.logind.setSilently(x(1, hint: true)) } == .staged)
  }

  /// The helper got no processor time, and said hello only after the lock.
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
        // A password that came after the lock lifts the lock, even if the password's time is in the future.
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
    // A process that outlived its session, such as tmux, may take a password.
    #expect(try refusal(given: second, from: "2") == nil)
    try scene.logind.end("1")
    try scene.loop.run(until: "the last end") { scene.watch.machine.state == .sealed }
    #expect(try scene.keysArrive(given: second) == .refused(ended))
    #expect(try scene.keysArrive(given: Process.microsecondsSinceBoot) == .live)
  }

  /// A lock has no time if only logind's answer shows the lock. It counts as older than a password of this moment, but not as older
  /// than earlier passwords.
  @Test(arguments: [true, false]) func aLockOfUnknownTimeIsNotLiftedByAnOldPassword(isOld: Bool) throws {
    let scene = try Scene(sessions: x(1))
    try scene.loop.run(until: "logind") { scene.watch.machine.logind == .present }
    scene.logind.setSilently(x(1, hint: true))
    let now = Process.microsecondsSinceBoot
    let outcome = try scene.keysArrive(given: isOld ? now - Hello.unknownTime - 1 : now)
    #expect(outcome == (isOld ? .firstUnlockOnly : .staged))
  }

  /// A daemon knows of no lock from before it began.
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

  /// The lock came during the question to logind, so it is later than the password.
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

  /// Keys may wait for more than logind's answer. A lock that comes meanwhile is later than the keys, and acts at once.
  @Test func aLockWhileKeysWaitForAPreparationIsNotUndoneByThem() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    var outcome: KeyOutcome?
    var goOn: () -> Void = {}
    scene.watch.keysArrived(mayLift: true, by: scene.claim, after: { goOn = $0 }) { outcome = $0 }
    // logind has answered.
    var answered = false
    scene.watch.keysArrived(mayLift: false, by: scene.claim) { _ in answered = true }
    try scene.loop.run(until: "logind's answer") { answered }
    #expect(outcome == nil)
    // The refusal does not wait for the preparation: until then, A would be in memory behind a lock.
    scene.watch.lock()
    #expect(outcome == .refused(.session(.lockedMeanwhile)))
    outcome = nil
    goOn()
    #expect(outcome == nil)
  }
}
