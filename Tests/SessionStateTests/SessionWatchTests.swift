import LatchkeyControl
import LatchkeyPosix
import LatchkeyPrivateBus
import LatchkeyReasons
import LatchkeySystemd
import Testing

@testable import LatchkeySessionState

@Suite(.timeLimit(.minutes(20))) struct SessionWatchTests {
  /// A daemon without keys: it writes down what it is told.
  private final class Daemon: SessionWatchDelegate {
    var done: [String] = []
    /// How often all helpers were ended.
    var ends = 0
    /// What single ones work for, and how many of them were ended.
    var claims: [Claim] = []
    var unwanted = 0
    /// Where they take a moment to end.
    var leave: ((@escaping () -> Void) -> Void)?
    var atErase: () -> Void = {}
    func eraseUnlockedKeys(_ reason: LockReason) {
      atErase()
      done.append("erase A: \(reason)")
    }
    func eraseAllKeys(_ reason: SealReason) { done.append("erase all: \(reason)") }
    func eraseStagedKeys() { done.append("erase staged") }
    func endDerivations(_ which: UnwantedDerivations, gone: @escaping () -> Void) {
      if let leave { leave(gone) } else { gone() }
      switch which {
      case .all: ends += 1
      case .claimed(let isUnwanted): unwanted += claims.count { isUnwanted($0) }
      }
    }
    /// How often it was told of a lock.
    var locks = 0
    func wasLocked() {
      locks += 1
      done.append("locked")
    }
    func stagedKeysGoLive() { done.append("go live") }
    func firstUnlockHappened() { done.append("first unlock") }
    func sessionStateChanged() { done.append("changed") }
  }

  private final class Scene {
    let systemBus: PrivateBus
    let sessionBus: PrivateBus
    let loop: EventLoop
    let logind: FakeLogind
    let bus: Bus
    let saver: Bus
    let daemon = Daemon()
    let watch: SessionWatch

    init(
      sessions: SessionFacts..., begun: UInt64 = 0, stagingTime: Duration = .seconds(30),
      sessionTime: Duration = .seconds(60)
    ) throws {
      systemBus = try PrivateBus()
      sessionBus = try PrivateBus()
      loop = try EventLoop()
      logind = try FakeLogind(systemBus, loop)
      for facts in sessions { logind.setSilently(facts) }
      bus = try sessionBus.connect(loop)
      saver = try sessionBus.connect(loop)
      watch = SessionWatch(
        uid: 1000, loop: loop, delegate: daemon, begun: begun, systemBus: .address(systemBus.address),
        stagingTime: stagingTime, sessionTime: sessionTime)
      watch.start()
      try watch.hearScreenSavers(on: bus)
      _ = try bus.call(loop, "org.freedesktop.DBus", "/", "org.freedesktop.DBus.Peer", "Ping")
    }

    /// Of an authentication that begins when its keys come.
    var claim: Claim { Claim(process: .unknown, machine: watch.machine) }

    /// Lets the machine go to sleep while helpers take a moment to end.
    ///
    /// - Returns: to be called when they have ended, of the newest sleep.
    func beginSleep() throws -> () -> Void {
      try loop.run(until: "the delay lock") { watch.holdsSleepInhibitor }
      var gone: () -> Void = {}
      daemon.leave = { gone = $0 }
      try logind.prepareForSleep(true)
      try loop.run(until: "helpers to end") { daemon.ends == 1 }
      return { gone() }
    }

    func keysArrive(mayLift: Bool = true, given: UInt64? = nil) throws -> KeyOutcome? {
      var outcome: KeyOutcome?
      watch.claim(by: .unknown, given: given) { [daemon, watch] claim in
        watch.keysArrived(mayLift: mayLift, by: claim) {
          outcome = $0
          daemon.done.append("install \($0)")
        }
      }
      try loop.run(until: "keys") { outcome != nil }
      return outcome
    }

    func sessionKeyArrives() throws -> KeyOutcome? {
      var outcome: KeyOutcome?
      watch.sessionKeyArrived(by: claim) { [daemon] in
        outcome = $0
        daemon.done.append("install \($0)")
      }
      #expect(outcome == nil, "logind is asked first")
      try loop.run(until: "the key") { outcome != nil }
      return outcome
    }

    func run(until text: String) throws { try loop.run(until: text) { daemon.done.contains(text) } }
  }

  /// Grants and waiting requests end once at a lock, by whichever of two calls.
  @Test func aLockIsToldOnce() throws {
    let scene = try Scene(sessions: x(1))
    func told() -> [Int] { [scene.daemon.done.count { $0.hasPrefix("erase ") }, scene.daemon.locks] }
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    #expect(told() == [1, 0])
    scene.watch.lock()
    #expect(told() == [1, 1])
    try scene.logind.end("1")
    try scene.run(until: "erase all: last session ended")
    #expect(told() == [2, 1])
  }

  /// The end of grants can wait for the disk, and keys must be gone before that.
  @Test func stagedKeysAreErasedBeforeALockIsTold() throws {
    let scene = try Scene(sessions: x(1, hint: true))
    try scene.loop.run(until: "the locker") { scene.watch.machine.lockerUp }
    #expect(try scene.keysArrive() == .staged)
    scene.daemon.done = []
    scene.watch.lock()
    #expect(scene.daemon.done.filter { ["erase staged", "locked"].contains($0) } == ["erase staged", "locked"])
  }

  /// A locker that was up before this program began is no lock for keys on their way. It is one for what a person answered.
  @Test func aLockerThatIsFoundIsTold() throws {
    let scene = try Scene(sessions: x(1, hint: true))
    try scene.loop.run(until: "the locker") { scene.watch.machine.lockerUp }
    #expect(scene.daemon.locks == 1 && scene.watch.machine.locks == 0)
  }

  @Test func aLoginUnlocksALockErases() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    #expect(scene.daemon.done.suffix(3) == ["install live", "first unlock", "changed"])
    try scene.logind.set(x(1, hint: true))
    try scene.run(until: "erase A: screen locked (LockedHint)")
    #expect(try scene.keysArrive() == .staged)
    try scene.logind.set(x(1))
    try scene.run(until: "go live")
    #expect(scene.watch.machine.state == .unlocked)
    try scene.logind.end("1")
    try scene.run(until: "erase all: last session ended")
  }

  @Test func aLoginWithoutAPasswordOpensAPart() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.sessionKeyArrives() == .firstUnlockOnly)
    #expect(scene.daemon.done.suffix(3) == ["install firstUnlockOnly", "first unlock", "changed"])
    #expect(try scene.sessionKeyArrives() == .notNeeded)
    #expect(try scene.keysArrive() == .live)
    #expect(try scene.sessionKeyArrives() == .notNeeded)
    #expect(scene.watch.machine.state == .unlocked)
  }

  /// The socket brought the keys before the bus brought the lock.
  @Test func logindIsAskedBeforeKeysArePlaced() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    #expect(scene.daemon.done.contains("erase A: command"))
    scene.logind.setSilently(x(1, hint: true))
    #expect(try scene.keysArrive() == .staged)
    #expect(try scene.keysArrive(mayLift: false) == .refused(.session(.liftsNoLock)))
  }

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
        // One that was given after it lifts it, and nobody can say more than that.
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

  /// It knows of no lock that came before it began.
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

  /// Also where there is nothing to erase.
  @Test func helpersAreEndedBeforeSleepAndAtTheEnd() throws {
    let scene = try Scene(sessions: x(1))
    try scene.loop.run(until: "the delay lock") { scene.watch.holdsSleepInhibitor }
    try scene.logind.prepareForSleep(true)
    try scene.loop.run(until: "helpers to end") { scene.daemon.ends == 1 }
    try scene.logind.prepareForSleep(false)
    try scene.loop.run(until: "the next delay lock") { scene.watch.holdsSleepInhibitor }
    #expect(scene.daemon.ends == 1)
    try scene.logind.end("1")
    try scene.loop.run(until: "helpers to end") { scene.daemon.ends == 2 }
    scene.watch.lock()
    #expect(scene.daemon.ends == 3)
  }

  /// One of several sessions ends: what was typed in it is wanted no more, and what was typed elsewhere is.
  @Test func helpersOfASessionAreEndedWithIt() throws {
    let scene = try Scene(sessions: x(1), x(2))
    for id in ["1", "2"] {
      let process = PeerProcess.session(id: id, uid: 1000, sessionClass: "user", type: "x11", isRemote: false)
      scene.watch.claim(by: process) { [daemon = scene.daemon] in daemon.claims.append($0) }
    }
    try scene.loop.run(until: "the claims") { scene.daemon.claims.count == 2 }
    try scene.logind.end("2")
    try scene.loop.run(until: "its helper to end") { scene.daemon.unwanted == 1 }
    #expect(scene.daemon.ends == 0)
    var outcomes: [KeyOutcome] = []
    for claim in scene.daemon.claims.reversed() {
      scene.watch.keysArrived(mayLift: true, by: claim) { outcomes.append($0) }
    }
    try scene.loop.run(until: "both keys") { outcomes.count == 2 }
    #expect(outcomes == [.refused(.session(.sessionEnded)), .live])
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

  /// They erase the password before the machine sleeps.
  @Test func sleepWaitsForHelpersThatEnd() throws {
    let scene = try Scene(sessions: x(1))
    let gone = try scene.beginSleep()
    #expect(scene.logind.heldInhibitors == 1 && scene.watch.machine.isGoingToSleep)
    gone()
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.loop.run(until: "the end of the delay lock") { scene.logind.heldInhibitors == 0 }
    try scene.logind.prepareForSleep(false)
    try scene.loop.run(until: "the next delay lock") { scene.watch.holdsSleepInhibitor }
    // One that takes longer than the machine's sleep leaves the lock for the next time.
    try scene.logind.prepareForSleep(true)
    try scene.loop.run(until: "helpers to end") { scene.daemon.ends == 2 }
    try scene.logind.prepareForSleep(false)
    try scene.loop.run(until: "awake") { !scene.watch.machine.isGoingToSleep }
    gone()
    #expect(scene.watch.holdsSleepInhibitor && scene.logind.heldInhibitors == 1)
  }

  /// What a person answered behind a lock, and what waits for an answer there, does not sleep in memory.
  @Test(arguments: [true, false]) func sleepIsALockAlsoWhereNoKeyIsLeftToErase(isSealed: Bool) throws {
    let scene = try Scene(sessions: x(1))
    if !isSealed {
      #expect(try scene.keysArrive() == .live)
      scene.watch.lock()
    }
    let (locks, done) = (scene.daemon.locks, scene.daemon.done)
    try scene.logind.prepareForSleep(true)
    try scene.loop.run(until: "the sleep") { scene.watch.machine.isGoingToSleep }
    #expect(scene.daemon.locks == locks + 1)
    #expect(!scene.daemon.done.dropFirst(done.count).contains { $0.hasPrefix("erase A") })
  }

  /// Every reading of the sessions says again that the machine goes to sleep. Helpers that leave already may not be found then.
  @Test func aSleepThatIsToldAgainWaitsForHelpersThatEndAlready() throws {
    let scene = try Scene(sessions: x(1))
    let gone = try scene.beginSleep()
    scene.daemon.leave = nil
    let locks = scene.watch.machine.locks
    var claim: Claim?
    scene.watch.claim(by: .unknown) { claim = $0 }
    try scene.loop.run(until: "the reading") { claim != nil }
    #expect(scene.watch.holdsSleepInhibitor && scene.logind.heldInhibitors == 1)
    // It is the same sleep, and no password is to be worked on in it.
    #expect(scene.watch.machine.locks == locks && scene.daemon.ends == 1)
    #expect(claim.map(scene.watch.machine.refusal) == .session(.goingToSleep))
    gone()
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.loop.run(until: "the end of the delay lock") { scene.logind.heldInhibitors == 0 }
  }

  @Test func noKeysComeAfterTheEnd() throws {
    let scene = try Scene(sessions: x(1))
    let ended = KeyOutcome.refused(.session(.daemonEnds))
    var outcome: KeyOutcome?
    scene.watch.keysArrived(mayLift: true, by: scene.claim) { outcome = $0 }
    #expect(outcome == nil, "logind is asked first")
    scene.watch.end()
    #expect(outcome == ended)
    #expect(try scene.keysArrive() == ended)
    outcome = nil
    scene.watch.sessionKeyArrived(by: scene.claim) { outcome = $0 }
    #expect(outcome == ended && scene.watch.machine.state == .sealed)
  }

  /// What waits in the daemon when the machine goes to sleep is erased first: sleep waits for nothing else.
  @Test(arguments: [true, false]) func keysThatWaitDoNotSleepInMemory(isSealed: Bool) throws {
    final class Keys {}
    let scene = try Scene(sessions: x(1))
    if !isSealed {
      #expect(try scene.keysArrive() == .live)
      scene.watch.lock()
    }
    try scene.loop.run(until: "the delay lock") { scene.watch.holdsSleepInhibitor }
    var outcome: KeyOutcome?
    var held: Int?
    weak var keys: Keys?
    var goOn: () -> Void = {}
    do {
      let arrived = Keys()
      keys = arrived
      // It hangs.
      scene.watch.keysArrived(mayLift: true, by: scene.claim, after: { goOn = $0 }) { [logind = scene.logind] in
        outcome = $0
        held = logind.heldInhibitors
        withExtendedLifetime(arrived) {}
      }
    }
    #expect(keys != nil)
    try scene.logind.prepareForSleep(true)
    try scene.loop.run(until: "the end of the delay lock") { scene.logind.heldInhibitors == 0 }
    #expect(outcome == .refused(.session(.goingToSleep)) && held == 1 && keys == nil)
    // And what comes when nothing holds sleep up any more.
    outcome = nil
    scene.watch.keysArrived(mayLift: true, by: scene.claim, after: { goOn = $0 }) { outcome = $0 }
    #expect(outcome == .refused(.session(.goingToSleep)))
    goOn()
  }

  /// At a first login such a lock leaves what the first unlock opens.
  @Test func aLockWhileTheFirstKeysWaitLeavesTheFirstUnlock() throws {
    let scene = try Scene(sessions: x(1))
    try scene.loop.run(until: "sessions") { scene.watch.machine.knownSessions == ["1"] }
    var outcome: KeyOutcome?
    scene.watch.keysArrived(mayLift: true, by: scene.claim) { outcome = $0 }
    scene.watch.lock()
    try scene.loop.run(until: "keys") { outcome != nil }
    #expect(outcome == .firstUnlockOnly)
    #expect(scene.watch.machine.state == .locked(.command))
    #expect(scene.daemon.done.contains("first unlock"))
  }

  /// Keys that do not open the vault after all are no first unlock.
  @Test func keysThatFailWhenInstalledAreNoFirstUnlock() throws {
    let scene = try Scene()
    var done = false
    scene.watch.keysArrived(mayLift: true, by: scene.claim) { [watch = scene.watch] _ in
      watch.keysFailed()
      done = true
    }
    try scene.loop.run(until: "keys") { done }
    #expect(scene.watch.machine.state == .sealed)
    #expect(scene.daemon.done.last == "changed")
    #expect(!scene.daemon.done.contains("first unlock"))
  }

  @Test func keysAreRefusedWhileLogindIsSilent() throws {
    let scene = try Scene(sessions: x(1))
    try scene.loop.run(until: "sessions") { scene.watch.machine.knownSessions == ["1"] }
    scene.logind.isSilent = true
    #expect(try scene.keysArrive() == .refused(.session(.noLogind)))
    #expect(scene.watch.machine.state == .sealed)
    scene.logind.answerAll()
    #expect(try scene.keysArrive() == .live)
  }

  @Test func sleepErasesBeforeItGoesOn() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    try scene.loop.run(until: "the delay lock") { scene.watch.holdsSleepInhibitor }
    var held: Int?
    scene.daemon.atErase = { [unowned scene] in held = scene.logind.heldInhibitors }
    try scene.logind.prepareForSleep(true)
    try scene.run(until: "erase A: sleep")
    #expect(held == 1)
    #expect(try scene.keysArrive() == .refused(.session(.goingToSleep)))
    try scene.logind.prepareForSleep(false)
    try scene.loop.run(until: "awake") { scene.watch.holdsSleepInhibitor }
    #expect(try scene.keysArrive() == .live)
  }

  @Test func aScreenSaverLocksAndReleases() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    func say(_ active: Bool) throws {
      try scene.saver.emitSignal(
        path: "/", interface: "org.gnome.ScreenSaver", member: "ActiveChanged",
        build: { $0.appendBool(active) })
    }
    try say(true)
    try scene.run(until: "erase A: screen locked (screen saver)")
    #expect(try scene.keysArrive() == .staged)
    try say(false)
    try scene.run(until: "go live")
    try say(true)
    try scene.loop.run(until: "locker") { scene.watch.machine.lockerUp }
    scene.saver.close()
    try scene.loop.run(until: "no locker") { !scene.watch.machine.lockerUp }
    #expect(scene.watch.machine.state == .locked(.screenSaver))
  }

  @Test func stagedKeysAreErasedInTime() throws {
    let scene = try Scene(sessions: x(1, hint: true), stagingTime: .milliseconds(100))
    #expect(try scene.keysArrive() == .staged)
    #expect(!scene.daemon.done.contains("erase staged"))
    try scene.run(until: "erase staged")
    #expect(!scene.watch.machine.hasStagedKeys)
  }

  @Test func keysWithoutASessionAreErasedInTime() throws {
    let scene = try Scene(sessionTime: .milliseconds(100))
    #expect(try scene.keysArrive() == .live)
    try scene.run(until: "erase all: no session after login")

    let second = try Scene(sessionTime: .seconds(3))
    #expect(try second.keysArrive() == .live)
    try second.logind.set(x(1))
    try second.loop.run(for: .milliseconds(3500))
    #expect(second.watch.machine.state == .unlocked)
  }

  @Test func aSessionThatClosesIsNoticedWhenPAMTells() throws {
    let scene = try Scene(sessions: t(1))
    #expect(try scene.keysArrive() == .live)
    // logind sends no signal for this.
    try scene.logind.set(t(1, state: "closing"))
    scene.watch.pamSessionClosed()
    try scene.run(until: "erase all: last session ended")
  }
}
