import LatchkeyControl
import LatchkeySessionState
import Testing

/// A machine after a login without a password.
private func opened(_ sessions: SessionFacts...) -> SessionMachine {
  var machine = SessionMachine(uid: 1000)
  _ = machine.handle(.sessions(sessions))
  _ = machine.sessionKeyArrived()
  precondition(machine.isOpenedWithoutPassword)
  return machine
}

/// Tier key C alone, from a login without a password.
@Suite struct SessionKeyLoginTests {
  @Test func itOpensWhatIsSealedAndIsTheFirstUnlock() {
    var m = machine(x(1))
    #expect(m.sessionKeyArrived() == [.install(.firstUnlockOnly), .firstUnlock, .stateChanged])
    #expect(m.state == .locked(.withoutPassword) && m.isOpenedWithoutPassword && !m.lockerUp)
    #expect(m.sessionKeyArrived() == [.install(.notNeeded)])
  }

  @Test func nothingElseIsTouched() {
    var locked = unlocked(x(1))
    _ = locked.handle(.lockCommand)
    var passwordless = machine(x(1))
    _ = passwordless.handle(.passwordless(true))
    for start in [unlocked(x(1)), locked, staged(), passwordless, opened(x(1))] {
      var m = start
      #expect(m.sessionKeyArrived() == [.install(.notNeeded)])
      #expect(m.state == start.state && m.hasStagedKeys == start.hasStagedKeys)
      #expect(m.isOpenedWithoutPassword == start.isOpenedWithoutPassword)
    }
  }

  @Test func notOnTheWayToSleep() {
    var m = machine(x(1))
    _ = m.handle(.prepareForSleep(true))
    guard case .install(.refused) = m.sessionKeyArrived().first else { Issue.record("installed"); return }
    #expect(m.state == .sealed && !m.isOpenedWithoutPassword)
    _ = m.handle(.prepareForSleep(false))
    #expect(m.sessionKeyArrived().first == .install(.firstUnlockOnly))
  }

  @Test func behindALockerItSaysSo() {
    var m = machine(x(1, hint: true))
    #expect(m.sessionKeyArrived().first == .install(.firstUnlockOnly))
    #expect(m.state == .locked(.lockedHint) && m.isOpenedWithoutPassword)
    // Now the lock is like any other.
    #expect(m.keysArrived(mayLift: false) == [.install(.refused(.session(.liftsNoLock)))])
    #expect(m.keysArrived(mayLift: true).first == .install(.staged))
    #expect(m.handle(.sessions([x(1)])).contains(.goLive))
    #expect(m.state == .unlocked && !m.isOpenedWithoutPassword)
  }

  /// There is no lock to lift, so every login that may unseal the vault opens the other classes.
  @Test(arguments: [true, false]) func thePasswordOpensTheRest(mayLift: Bool) {
    var m = opened(x(1))
    #expect(m.keysArrived(mayLift: mayLift) == [.install(.live), .stateChanged])
    #expect(m.state == .unlocked && !m.isOpenedWithoutPassword)
    #expect(m.handle(.lockCommand) == [.lock(.command), .stateChanged])
    #expect(!m.isOpenedWithoutPassword)
  }

  @Test(arguments: [
    (SessionEvent.lockCommand, LockReason.command), (.lockSignal(session: "1"), .lockSignal),
    (.sessions([x(1, hint: true)]), .lockedHint), (.prepareForSleep(true), .sleep),
    (.screenSaver(peer: ":1.7", active: true), .screenSaver),
  ])
  func aLockIsALock(event: SessionEvent, reason: LockReason) {
    var m = opened(x(1))
    #expect(m.handle(event).first == .lock(reason), "what was given to items ends with it")
    #expect(m.state == .locked(reason) && m.isOpenedWithoutPassword)
    for undo: SessionEvent in [
      .sessions([x(1)]), .prepareForSleep(false), .screenSaver(peer: ":1.7", active: false),
      .unlockSignal(session: "1"),
    ] {
      _ = m.handle(undo)
    }
    #expect(m.state == .locked(reason))
    #expect(m.keysArrived(mayLift: false) == [.install(.refused(.session(.liftsNoLock)))])
    #expect(m.keysArrived(mayLift: true).first == .install(.live))
  }

  @Test func aLockThatCameMeanwhileWins() {
    var m = opened(x(1))
    let locks = m.locks
    _ = m.handle(.lockCommand)
    #expect(m.keysArrived(mayLift: true, locksBefore: locks) == [.install(.refused(.session(.lockedMeanwhile)))])

    // A lock also counts if it came before any keys.
    m = machine(x(1))
    let before = m.locks
    _ = m.handle(.lockCommand)
    #expect(m.sessionKeyArrived(locksBefore: before).first == .install(.firstUnlockOnly))
    #expect(m.state == .locked(.command) && m.isOpenedWithoutPassword)
  }

  @Test func theEndOfTheSessionSeals() {
    var m = opened(x(1))
    #expect(m.handle(.sessions([])) == [.seal(.sessionsEnded), .stateChanged])
    #expect(m.state == .sealed && !m.isOpenedWithoutPassword)

    m = opened(x(1))
    _ = m.handle(.keysFailed)
    #expect(m.state == .sealed && !m.isOpenedWithoutPassword)

    m = machine()
    #expect(m.sessionKeyArrived().contains(.startSessionTimer))
    #expect(m.handle(.sessionTimerFired) == [.seal(.noSession), .cancelSessionTimer, .stateChanged])

    m = opened(x(1))
    _ = m.handle(.passwordless(true))
    #expect(m.state == .unlocked && !m.isOpenedWithoutPassword)
  }

  @Test func whoMayBringThePassword() {
    func decide(_ service: String, _ stage: Hello.Stage, _ m: SessionMachine, rhost: String = "")
      -> AuthenticationPolicy.Decision
    {
      let peer = PeerProcess.systemService(startedByRoot: true)
      return AuthenticationPolicy.decide(
        Hello(stage: stage, service: service, tty: "", remoteHost: rhost), from: peer, machine: m)
    }
    let m = opened(x(1))
    for stage in [Hello.Stage.authenticate, .openSession] {
      #expect(decide("login", stage, m) == .keys(mayLift: true))
      #expect(decide("sshd", stage, m, rhost: "::1") == .keys(mayLift: false))
    }
    #expect(decide("latchkey-unlock", .authenticate, m) == .keys(mayLift: true))
    for service in ["sudo", "su", "cron", "polkit-1"] {
      guard case .refused = decide(service, .authenticate, m) else { Issue.record("\(service)"); continue }
    }
    // After a lock, the vault is locked like any other.
    var locked = m
    _ = locked.handle(.lockCommand)
    guard case .refused = decide("sshd", .authenticate, locked) else { Issue.record("sshd lifts a lock"); return }
    #expect(decide("login", .openSession, locked) == .nothing)
  }
}
