import LatchkeyControl
import LatchkeyPosix
import Testing

@testable import LatchkeySessionState

/// A finger brings back all keys at the locked screen.
@Suite struct FingerKeysTests {
  private func arrive(_ machine: inout SessionMachine, isLetIn: Bool = false) -> SessionEffect? {
    machine.fingerKeysArrived(locksBefore: machine.locks, endingsBefore: machine.endings, isLetIn: isLetIn).first
  }

  private func isRefused(_ effect: SessionEffect?) -> Bool {
    if case .install(.refused) = effect { true } else { false }
  }

  /// A session behind a locker, after a password unlocked the vault.
  private func behindLocker() -> SessionMachine {
    var m = unlocked(x(1))
    _ = m.handle(.screenSaver(peer: ":1.5", active: true))
    return m
  }

  @Test func theyWaitForTheLocker() {
    var m = behindLocker()
    #expect(arrive(&m) == .install(.staged))
    #expect(m.hasStagedKeys && m.state == .locked(.screenSaver))
    #expect(m.handle(.screenSaver(peer: ":1.5", active: false)).contains(.goLive))
    #expect(m.state == .unlocked)
    #expect(arrive(&m) == .install(.notNeeded))
  }

  @Test func withoutALockerTheyOpenNothing() {
    var m = unlocked(x(1))
    _ = m.handle(.lockCommand)
    #expect(isRefused(arrive(&m)))
    #expect(m.state == .locked(.command) && !m.hasStagedKeys)
    var sealed = machine(x(1))
    _ = sealed.handle(.screenSaver(peer: ":1.5", active: true))
    #expect(isRefused(arrive(&sealed)))
    #expect(sealed.state == .sealed)
  }

  @Test func aLockAnEndOrSleepComesFirst() {
    let start = behindLocker()
    var m = start
    _ = m.handle(.lockCommand)
    #expect(isRefused(m.fingerKeysArrived(locksBefore: start.locks, endingsBefore: start.endings).first))
    m = start
    _ = m.handle(.sessions([]))
    #expect(isRefused(m.fingerKeysArrived(locksBefore: start.locks, endingsBefore: start.endings).first))
    m = start
    _ = m.handle(.prepareForSleep(true))
    #expect(isRefused(arrive(&m)))
    #expect(!m.hasStagedKeys)
  }

  /// They wait for the locker from the touch on, however late they come.
  @Test func theyWaitNoLongerThanAPasswordsKeys() {
    var m = behindLocker()
    let effects = m.fingerKeysArrived(locksBefore: m.locks, endingsBefore: m.endings, age: .seconds(20))
    #expect(effects == [.install(.staged), .startStagingTimer(age: .seconds(20)), .stateChanged])
  }

  @Test func thePasswordsKeysStayBesideThem() {
    var m = behindLocker()
    #expect(m.keysArrived(mayLift: true).first == .install(.staged))
    #expect(arrive(&m) == .install(.notNeeded))
    #expect(m.hasStagedKeys)
    // In the reverse order, the password's keys replace the finger's.
    m = behindLocker()
    #expect(arrive(&m) == .install(.staged) && arrive(&m) == .install(.staged))
    #expect(m.keysArrived(mayLift: true).first == .install(.staged))
  }

  // MARK: A finger that a prompt asked for

  private func answer(_ machine: inout SessionMachine, locksBefore: UInt64? = nil) -> SessionEffect? {
    machine.promptsFingerKeysArrived(locksBefore: locksBefore ?? machine.locks, endingsBefore: machine.endings).first
  }

  @Test func aPromptsFingerUnlocksTheVaultThatAloneIsLocked() {
    var m = unlocked(x(1))
    let before = m.locks
    #expect(!m.mayUnlockByFinger && answer(&m) == .install(.notNeeded))
    _ = m.handle(.lockCommand)
    #expect(m.mayUnlockByFinger)
    #expect(answer(&m, locksBefore: before) == .install(.refused(.session(.lockedMeanwhile))))
    #expect(answer(&m) == .install(.live) && m.state == .unlocked)
    // A locker that a finger opened without the vault has gone.
    m = behindLocker()
    _ = m.handle(.screenSaver(peer: ":1.5", active: false))
    #expect(m.state == .locked(.screenSaver) && answer(&m) == .install(.live))
  }

  @Test func aPromptsFingerOpensNothingBehindALockerOrElsewhere() {
    var m = behindLocker()
    #expect(!m.mayUnlockByFinger && answer(&m) == .install(.refused(.session(.unlockScreen))))
    #expect(!m.hasStagedKeys)
    let sealed = machine(x(1))
    var withoutPassword = machine(x(1))
    _ = withoutPassword.sessionKeyArrived()
    var asleep = unlocked(x(1))
    _ = asleep.handle(.prepareForSleep(true))
    var remote = unlocked(elsewhere(1))
    _ = remote.handle(.lockCommand)
    #expect(remote.state == .locked(.command))
    // A locker that tells nobody that it is up may follow logind's signal.
    var silent = unlocked(x(1))
    _ = silent.handle(.lockCommand)
    _ = silent.handle(.lockSignal(session: "1"))
    // The prompt's window may be on the other desktop.
    var both = unlocked(x(1), elsewhere(2))
    _ = both.handle(.lockCommand)
    for start in [sealed, withoutPassword, asleep, remote, silent, both] {
      m = start
      #expect(!m.mayUnlockByFinger && isRefused(answer(&m)))
    }
  }

  // MARK: A locker that is gone before the keys come

  /// Whether the machine takes the events as a locker that let the person in at moment 5.
  private func letsIn(_ start: SessionMachine, _ events: [SessionEvent]) -> Bool {
    var (m, latest) = (start, LatestEvents())
    for event in events {
      let before = m
      _ = m.handle(event)
      latest.note(from: before, to: m, at: 5)
    }
    return latest.isLetIn(since: 5)
  }

  @Test func aLockerThatLetThePersonInBeforeOpensThem() {
    let m = behindLocker()
    #expect(letsIn(m, [.screenSaver(peer: ":1.5", active: false)]))
    #expect(!letsIn(unlocked(x(1)), [.sessions([x(1, hint: true)]), .sessions([x(1)])]))
    var hinted = unlocked(x(1))
    _ = hinted.handle(.sessions([x(1, hint: true)]))
    #expect(letsIn(hinted, [.sessions([x(1)])]))
    var gone = m
    _ = gone.handle(.screenSaver(peer: ":1.5", active: false))
    #expect(isRefused(arrive(&gone)))
    #expect(arrive(&gone, isLetIn: true) == .install(.live))
    #expect(gone.state == .unlocked)
  }

  /// Each of these series of events would have erased keys that were set aside.
  @Test(arguments: [
    [SessionEvent.screenSaverVanished(peer: ":1.5")],
    [.lockCommand, .screenSaver(peer: ":1.5", active: false)],
    [.screenSaver(peer: ":1.5", active: false), .lockCommand],
    [.screenSaver(peer: ":1.5", active: false), .lockSignal(session: "1")],
    [.screenSaver(peer: ":1.5", active: false), .prepareForSleep(true), .prepareForSleep(false)],
    [.stagingTimerFired, .screenSaver(peer: ":1.5", active: false)],
    [.sessions([x(1, hint: true)]), .screenSaver(peer: ":1.5", active: false), .sessions([x(1)])],
    [.sessions([])], [.sessions([x(2)])], [.sessions([x(1)])],
  ])
  func aLockerThatLetNobodyInOpensNothing(events: [SessionEvent]) { #expect(!letsIn(behindLocker(), events)) }

  @Test func aLockerThatWentBeforeTheTouchOpensNothing() {
    var (m, latest) = (behindLocker(), LatestEvents())
    let before = m
    _ = m.handle(.screenSaver(peer: ":1.5", active: false))
    latest.note(from: before, to: m, at: 5)
    #expect(latest.isLetIn(since: 5) && !latest.isLetIn(since: 6))
  }

  // MARK: Where the reader is not

  private func elsewhere(_ id: Int, hint: Bool = false) -> SessionFacts {
    var facts = x(id, hint: hint)
    (facts.isRemote, facts.seat) = (true, "")
    return facts
  }

  @Test func aScreenAtAnotherMachineIsNoLockerForAFinger() {
    var withoutSeat = x(1)
    withoutSeat.seat = ""
    for facts in [elsewhere(1), withoutSeat] {
      var m = unlocked(facts)
      var locked = facts
      locked.lockedHint = true
      _ = m.handle(.sessions([locked]))
      #expect(m.lockerUp && isRefused(arrive(&m)))
      _ = m.handle(.screenSaver(peer: ":1.5", active: true))
      #expect(isRefused(arrive(&m)))
    }
  }

  /// The person touched the reader here, and somebody else unlocked a desktop elsewhere.
  @Test func onlyTheLockerHereLetsAFingersKeysGoLive() {
    var m = unlocked(x(1), elsewhere(2))
    _ = m.handle(.sessions([x(1, hint: true), elsewhere(2, hint: true)]))
    #expect(m.state != .unlocked && arrive(&m) == .install(.staged))
    #expect(!m.handle(.sessions([x(1, hint: true), elsewhere(2)])).contains(.goLive))
    var ended = m
    #expect(ended.handle(.sessions([elsewhere(2)])).contains(.dropStaged))
    #expect(m.handle(.sessions([x(1), elsewhere(2)])).contains(.goLive))
  }
}

/// Keys by a finger, with a watch and logind.
extension SessionWatchTests {
  /// Another locker than the one of the touch has come up, and logind's answer is the first to tell it.
  @Test func aLockThatOnlyLogindsAnswerTellsIsLaterThanATouch() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    let touch = Process.microsecondsSinceBoot
    scene.logind.setSilently(x(1, hint: true))
    var outcome: KeyOutcome?
    scene.watch.claim(by: .unknown, given: touch, isOfFinger: true) { [watch = scene.watch] claim in
      watch.fingerKeysArrived(by: claim) { outcome = $0 }
    }
    try scene.loop.run(until: "keys") { outcome != nil }
    #expect(outcome == .refused(.session(.lockedMeanwhile)))
  }

  @Test func aFingersKeysComeAfterTheLockerHasGone() throws {
    let scene = try Scene(sessions: x(1))
    func arrive(given: UInt64) throws -> KeyOutcome? {
      var outcome: KeyOutcome?
      scene.watch.claim(by: .unknown, given: given, isOfFinger: true) { [watch = scene.watch] claim in
        watch.fingerKeysArrived(by: claim) { outcome = $0 }
      }
      try scene.loop.run(until: "keys") { outcome != nil }
      return outcome
    }
    #expect(try scene.keysArrive() == .live)
    let before = Process.microsecondsSinceBoot
    try scene.logind.set(x(1, hint: true))
    try scene.loop.run(until: "the locker") { scene.watch.machine.lockerUp }
    let touch = Process.microsecondsSinceBoot
    try scene.logind.set(x(1))
    try scene.loop.run(until: "the locker to go") { !scene.watch.machine.lockerUp }
    let late = Process.microsecondsSinceBoot
    #expect(try arrive(given: before) == .refused(.session(.lockedMeanwhile)), "from before the lock")
    #expect(try arrive(given: late) == .refused(.session(.liftsNoLock)), "no locker was up")
    #expect(try arrive(given: touch &- 31_000_000) == .refused(.session(.notNow)), "of half a minute ago")
    #expect(try arrive(given: touch) == .live)
  }
}
