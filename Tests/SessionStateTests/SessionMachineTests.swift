import LatchkeySessionState
import Testing

private let user: UInt32 = 1000

/// Two short forms: `x(1)` is a desktop and `t(1)` a terminal, both of the user.
func x(_ id: Int, hint: Bool = false, active: Bool = true, state: String = "active", type: String = "x11")
  -> SessionFacts
{
  SessionFacts(
    id: "\(id)", uid: user, type: type, isActive: active, state: state, lockedHint: hint, seat: "seat0")
}

func t(_ id: Int, hint: Bool = false, state: String = "active") -> SessionFacts {
  SessionFacts(id: "\(id)", uid: user, state: state, lockedHint: hint)
}

func greeter(_ sessionClass: String = "greeter", active: Bool = true, seat: String = "seat0") -> SessionFacts {
  SessionFacts(
    id: "c1", uid: 115, sessionClass: sessionClass, type: "x11", isActive: active, seat: seat)
}

/// A machine that knows `sessions`.
func machine(_ sessions: SessionFacts...) -> SessionMachine {
  var machine = SessionMachine(uid: user)
  _ = machine.handle(.sessions(sessions))
  return machine
}

/// An unlocked machine that knows `sessions`.
func unlocked(_ sessions: SessionFacts...) -> SessionMachine {
  var machine = SessionMachine(uid: user)
  _ = machine.handle(.sessions(sessions))
  _ = machine.keysArrived(mayLift: true)
  precondition(machine.state == .unlocked)
  return machine
}

/// A machine that is locked by LockedHint, with a locker on the screen and keys set aside.
func staged() -> SessionMachine {
  var machine = unlocked(x(1))
  _ = machine.handle(.sessions([x(1, hint: true)]))
  _ = machine.keysArrived(mayLift: true)
  precondition(machine.hasStagedKeys)
  return machine
}

@Suite struct SessionMachineTests {
  // MARK: Logging in

  @Test func aLoginUnlocks() {
    var m = machine(x(1))
    #expect(m.keysArrived(mayLift: true) == [.install(.live), .firstUnlock, .stateChanged])
    #expect(m.state == .unlocked)
    #expect(m.keysArrived(mayLift: true) == [.install(.notNeeded)])
  }

  @Test func aRemoteLoginUnsealsToo() {
    var m = machine(t(1))
    #expect(m.keysArrived(mayLift: false).first == .install(.live))
    #expect(m.state == .unlocked)
  }

  @Test func aLoginBehindALockerOpensCAndStagesA() {
    var m = machine(x(1, hint: true))
    let staged: [SessionEffect] = [.install(.staged), .startStagingTimer(age: .zero)]
    #expect(m.keysArrived(mayLift: true) == staged + [.firstUnlock, .stateChanged])
    #expect(m.state == .locked(.lockedHint))
    #expect(m.handle(.sessions([x(1)])) == [.goLive, .cancelStagingTimer, .stateChanged])
    #expect(m.state == .unlocked)
  }

  @Test func aRemoteLoginBehindALockerOpensCOnly() {
    var m = machine(x(1, hint: true))
    #expect(m.keysArrived(mayLift: false) == [.install(.firstUnlockOnly), .firstUnlock, .stateChanged])
    #expect(!m.hasStagedKeys)
    _ = m.handle(.sessions([x(1)]))
    #expect(m.state == .locked(.lockedHint))
  }

  @Test func keysWithoutASessionDoNotStay() {
    var m = machine()
    #expect(m.keysArrived(mayLift: true).contains(.startSessionTimer))
    #expect(m.handle(.sessionTimerFired) == [.seal(.noSession), .cancelSessionTimer, .stateChanged])
    #expect(m.state == .sealed)
    #expect(m.sealReason == .noSession)

    m = machine()
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.sessions([x(1)])).contains(.cancelSessionTimer))
    #expect(m.handle(.sessionTimerFired) == [])
    #expect(m.state == .unlocked)
  }

  // MARK: What locks

  @Test(arguments: [
    (SessionEvent.sessions([x(1, hint: true)]), LockReason.lockedHint),
    (.lockSignal(session: "1"), .lockSignal),
    (.prepareForSleep(true), .sleep),
    (.screenSaver(peer: ":1.7", active: true), .screenSaver),
    (.sessions([x(1, active: false), greeter()]), .greeter),
    (.sessions([x(1, active: false), greeter("lock-screen")]), .greeter),
    (.sessions([t(2)]), .sessionEnded),
    (.lockCommand, .command),
  ])
  func locksEraseAtOnce(event: SessionEvent, reason: LockReason) {
    var m = unlocked(x(1), t(2))
    #expect(m.handle(event) == [.lock(reason), .stateChanged])
    #expect(m.state == .locked(reason))
  }

  @Test func theReasonOfTheFirstLockStays() {
    var m = unlocked(x(1))
    _ = m.handle(.prepareForSleep(true))
    _ = m.handle(.prepareForSleep(false))
    #expect(m.handle(.sessions([x(1, hint: true)])) == [.stateChanged])
    #expect(m.state == .locked(.sleep))
  }

  @Test func nothingIsLockedWhileSealed() {
    for event: SessionEvent in [.lockCommand, .prepareForSleep(true), .lockSignal(session: "1"), .hibernate] {
      var m = machine(x(1))
      #expect(m.handle(event) == [])
      #expect(m.state == .sealed)
    }
  }

  @Test func ofSeveralDesktopsTheLastToLockLocks() {
    var m = unlocked(x(1), x(2, type: "wayland"))
    #expect(m.handle(.sessions([x(1, hint: true), x(2, type: "wayland")])) == [])
    #expect(!m.lockerUp)
    let both = [x(1, hint: true), x(2, hint: true, type: "wayland")]
    #expect(m.handle(.sessions(both)) == [.lock(.lockedHint), .stateChanged])
    #expect(m.lockerUp)

    m = unlocked(x(1), x(2))
    #expect(m.handle(.lockSignal(session: "1")) == [])
    #expect(m.handle(.lockSignal(session: "1")) == [])
    #expect(m.handle(.lockSignal(session: "2")) == [.lock(.lockSignal), .stateChanged])

    // The first desktop was unlocked in between, so one desktop is still unlocked.
    m = unlocked(x(1), x(2))
    _ = m.handle(.lockSignal(session: "1"))
    _ = m.handle(.unlockSignal(session: "1"))
    #expect(m.handle(.lockSignal(session: "2")) == [])
    m = unlocked(x(1), x(2))
    _ = m.handle(.lockSignal(session: "1"))
    _ = m.handle(.sessions([x(1, hint: true), x(2)]))
    _ = m.handle(.sessions([x(1), x(2)]))
    #expect(m.handle(.lockSignal(session: "2")) == [])
  }

  @Test func theLastOpenDesktopEndingLocks() {
    var m = unlocked(x(1), x(2))
    _ = m.handle(.sessions([x(1, hint: true), x(2)]))
    #expect(m.handle(.sessions([x(1, hint: true)])) == [.lock(.sessionEnded), .stateChanged])
    // A desktop in the state "closing" has ended, even if it still has processes.
    m = unlocked(x(1), t(2))
    #expect(m.handle(.sessions([x(1, state: "closing"), t(2)])) == [.lock(.sessionEnded), .stateChanged])
  }

  @Test func anyScreenSaverLocksWhateverDesktopsThereAre() {
    var m = unlocked(x(1), x(2))
    #expect(m.handle(.screenSaver(peer: ":1.7", active: true)) == [.lock(.screenSaver), .stateChanged])
  }

  @Test func ofTerminalsAnyLockLocks() {
    var m = unlocked(t(1), t(2))
    #expect(m.handle(.lockSignal(session: "2")) == [.lock(.lockSignal), .stateChanged])
    #expect(!m.lockerUp)
    m = unlocked(t(1), t(2))
    #expect(m.handle(.sessions([t(1), t(2, hint: true)])) == [.lock(.lockedHint), .stateChanged])
  }

  @Test func aTerminalDoesNotLockTheDesktop() {
    var m = unlocked(x(1), t(2))
    #expect(m.handle(.lockSignal(session: "2")) == [])
    #expect(m.handle(.sessions([x(1), t(2, hint: true)])) == [])
    #expect(m.state == .unlocked)
    #expect(!m.lockerUp)
  }

  @Test func aLockOfASessionNotKnownYetLocks() {
    var m = unlocked(x(1))
    #expect(m.handle(.lockSignal(session: "99")) == [.lock(.lockSignal), .stateChanged])
  }

  @Test func onlyAGreeterInFrontCountsAsLock() {
    // None of these locks: another terminal, another user's desktop, and a greeter at another seat or in the background.
    let other = SessionFacts(id: "9", uid: 1001, type: "x11", seat: "seat0")
    for others in [[t(2)], [other], [greeter(seat: "seat1")], [greeter(active: false)]] {
      var m = unlocked(x(1))
      #expect(m.handle(.sessions([x(1, active: false)] + others)) == [])
      #expect(m.state == .unlocked)
    }
  }

  @Test func aDesktopBehindAGreeterStaysBehindUntilItIsInFrontAgain() {
    var m = unlocked(x(1))
    _ = m.handle(.sessions([x(1, active: false), greeter()]))
    #expect(m.lockerUp)
    // Somebody else logged in. The greeter is gone, but the screen does not show the user's desktop.
    let other = SessionFacts(id: "9", uid: 1001, type: "x11", seat: "seat0")
    #expect(m.handle(.sessions([x(1, active: false), other])) == [])
    #expect(m.lockerUp)
    #expect(m.handle(.sessions([x(1)])) == [.stateChanged])
    #expect(!m.lockerUp)
    #expect(m.state == .locked(.greeter))
  }

  @Test func aGreeterLetsStagedKeysGoLiveByShowingTheDesktop() {
    var m = unlocked(x(1))
    _ = m.handle(.sessions([x(1, active: false), greeter()]))
    #expect(m.keysArrived(mayLift: true).first == .install(.staged))
    #expect(m.handle(.sessions([x(1), greeter(active: false)])).first == .goLive)
  }

  // MARK: What lifts

  @Test func withoutALockerKeysGoLiveAtOnce() {
    for event: SessionEvent in [.lockCommand, .lockSignal(session: "1")] {
      var m = unlocked(x(1))
      _ = m.handle(event)
      #expect(!m.lockerUp)
      #expect(m.keysArrived(mayLift: true) == [.install(.live), .stateChanged])
      #expect(m.state == .unlocked)
    }
  }

  @Test func aRequestToLockIsAnsweredByThePassword() {
    var m = unlocked(x(1))
    _ = m.handle(.lockSignal(session: "1"))
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.sessions([x(1), t(2)])) == [])
    #expect(m.state == .unlocked)
    #expect(m.handle(.lockSignal(session: "1")).first == .lock(.lockSignal))
  }

  @Test func aLoginThatMayNotLiftDoesNot() {
    for event: SessionEvent in [.lockCommand, .sessions([x(1, hint: true)])] {
      var m = unlocked(x(1))
      _ = m.handle(event)
      let before = m.state
      #expect(m.keysArrived(mayLift: false) == [.install(.refused(.session(.liftsNoLock)))])
      #expect(m.state == before)
      #expect(!m.hasStagedKeys)
    }
  }

  @Test func stagedKeysGoLiveWithTheLocker() {
    var m = staged()
    #expect(m.state == .locked(.lockedHint))
    #expect(m.handle(.sessions([x(1)])) == [.goLive, .cancelStagingTimer, .stateChanged])
    #expect(m.state == .unlocked)
    #expect(!m.hasStagedKeys)
  }

  @Test func stagedKeysAreErasedWhenTheLockerStays() {
    var m = staged()
    #expect(m.handle(.stagingTimerFired) == [.dropStaged, .cancelStagingTimer, .stateChanged])
    #expect(m.state == .locked(.lockedHint))
    #expect(m.handle(.sessions([x(1)])) == [.stateChanged])
    #expect(m.state == .locked(.lockedHint))
  }

  @Test func keysThatComeAgainCountAnew() {
    var m = staged()
    #expect(m.keysArrived(mayLift: true) == [.install(.staged), .startStagingTimer(age: .zero), .stateChanged])
  }

  @Test func anyNewLockErasesStagedKeys() {
    let events: [SessionEvent] = [
      .lockCommand, .prepareForSleep(true), .lockSignal(session: "1"), .screenSaver(peer: ":1.9", active: true),
      .sessions([x(1, hint: true), x(2, hint: true)]),
    ]
    for event in events {
      var m = staged()
      let effects = m.handle(event)
      #expect(effects.first == .dropStaged, "\(event)")
      #expect(effects.contains(.cancelStagingTimer))
      #expect(!m.hasStagedKeys)
    }
  }

  @Test func everyLockerMustGo() {
    var m = unlocked(x(1))
    _ = m.handle(.sessions([x(1, hint: true)]))
    _ = m.handle(.screenSaver(peer: ":1.7", active: true))
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.sessions([x(1)])) == [])
    #expect(m.lockers == ["screen saver :1.7"])
    #expect(m.handle(.screenSaver(peer: ":1.7", active: true)) == [])
    #expect(m.handle(.screenSaver(peer: ":1.7", active: false)).first == .goLive)
  }

  @Test func aDesktopThatEndsLetsNobodyIn() {
    var m = unlocked(x(1), t(2))
    _ = m.handle(.sessions([x(1, hint: true), t(2)]))
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.sessions([t(2)])) == [.dropStaged, .cancelStagingTimer, .stateChanged])
    #expect(m.state == .locked(.lockedHint))
  }

  @Test func unlockedByItselfOpensNothing() {
    var m = unlocked(x(1))
    _ = m.handle(.sessions([x(1, hint: true)]))
    _ = m.handle(.screenSaver(peer: ":1.7", active: true))
    for event: SessionEvent in [
      .unlockSignal(session: "1"), .screenSaver(peer: ":1.7", active: false), .sessions([x(1)]),
      .screenSaver(peer: ":1.8", active: false), .prepareForSleep(false),
    ] {
      #expect(!m.handle(event).contains { $0 == .goLive || $0 == .install(.live) })
      #expect(m.state == .locked(.lockedHint))
    }
    #expect(!m.lockerUp)
  }

  @Test func aRequestToUnlockIsNoEndOfTheLocker() {
    var m = staged()
    #expect(m.handle(.unlockSignal(session: "1")) == [])
    #expect(m.hasStagedKeys)
    #expect(m.lockerUp)
  }

  @Test func aScreenSaverThatVanishesIsNoLockerAndOpensNothing() {
    var m = unlocked(x(1))
    _ = m.handle(.screenSaver(peer: ":1.7", active: true))
    #expect(m.handle(.screenSaverVanished(peer: ":1.8")) == [])
    #expect(m.lockerUp)
    #expect(m.handle(.screenSaverVanished(peer: ":1.7")) == [.stateChanged])
    #expect(!m.lockerUp)
    #expect(m.state == .locked(.screenSaver))

    // A crash of the locker does not make keys live either.
    _ = m.handle(.screenSaver(peer: ":1.7", active: true))
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.screenSaverVanished(peer: ":1.7")).first == .dropStaged)
    #expect(m.state == .locked(.screenSaver))
  }

  @Test func aLockAloneIsNoLocker() {
    // A terminal session that loginctl locked, and a suspend without a locker. In both cases a prompt must be possible.
    var m = unlocked(t(1))
    _ = m.handle(.lockSignal(session: "1"))
    #expect(!m.lockerUp)
    m = unlocked(x(1))
    _ = m.handle(.prepareForSleep(true))
    _ = m.handle(.prepareForSleep(false))
    #expect(!m.lockerUp)
    #expect(m.keysArrived(mayLift: true).first == .install(.live))
  }

  @Test func noKeysComeWhileTheMachineGoesToSleep() {
    for start in [machine(x(1)), unlocked(x(1))] {
      var m = start
      _ = m.handle(.prepareForSleep(true))
      let state = m.state
      #expect(m.keysArrived(mayLift: true) == [.install(.refused(.session(.goingToSleep)))])
      #expect(m.state == state)
      _ = m.handle(.prepareForSleep(false))
      #expect(m.keysArrived(mayLift: true).first == .install(.live))
    }
  }

  // MARK: What counts, what seals

  @Test func onlyLoginsCount() {
    func of(_ sessionClass: String, uid: UInt32 = user, state: String = "active") -> SessionFacts {
      SessionFacts(id: "\(sessionClass)\(uid)", uid: uid, sessionClass: sessionClass, state: state)
    }
    for sessionClass in ["user", "user-early", "user-incomplete", "user-light"] {
      #expect(machine(of(sessionClass)).knownSessions?.count == 1, "\(sessionClass)")
    }
    for sessionClass in ["greeter", "lock-screen", "manager", "manager-early", "background", "background-light", ""] {
      #expect(machine(of(sessionClass)).knownSessions == [], "\(sessionClass)")
    }
    #expect(machine(of("user", uid: 1001)).knownSessions == [])
    #expect(machine(of("user", state: "closing")).knownSessions == [])
  }

  @Test func theEndOfTheLastSessionSeals() {
    for last in [
      [], [greeter()], [SessionFacts(id: "5", uid: user, sessionClass: "manager")], [x(1, state: "closing")],
    ] {
      var m = unlocked(x(1))
      #expect(m.handle(.sessions(last)) == [.seal(.sessionsEnded), .stateChanged])
      #expect(m.state == .sealed)
      #expect(m.sealReason == .sessionsEnded)
    }
    // The machine behaves in the same way with keys set aside, and in every state.
    var m = staged()
    #expect(m.handle(.sessions([])) == [.seal(.sessionsEnded), .dropStaged, .cancelStagingTimer, .stateChanged])
    m = unlocked(t(1), t(2))
    #expect(m.handle(.sessions([t(2)])) == [])
    #expect(m.handle(.sessions([])).first == .seal(.sessionsEnded))
  }

  @Test func hibernationSeals() {
    var m = unlocked(x(1))
    #expect(m.handle(.hibernate) == [.seal(.hibernation), .stateChanged])
    m = staged()
    #expect(m.handle(.hibernate).prefix(2) == [.seal(.hibernation), .dropStaged])
  }

  @Test func whatErasesComesFirst() {
    var machines = [unlocked(x(1)), staged(), machine(x(1))]
    _ = machines[0].handle(.screenSaver(peer: ":1.1", active: true))
    let events: [SessionEvent] = [
      .lockCommand, .prepareForSleep(true), .sessions([]), .sessions([t(2)]), .sessions([x(1, hint: true)]), .hibernate,
      .stagingTimerFired, .sessionTimerFired, .screenSaverVanished(peer: ":1.1"), .logindAbsent,
    ]
    for start in machines {
      for first in events {
        for second in events {
          var m = start
          for event in [first, second] {
            let effects = m.handle(event)
            let firstOther = effects.firstIndex { !$0.erases } ?? effects.endIndex
            #expect(!effects[firstOther...].contains { $0.erases }, "\(event): \(effects)")
          }
        }
      }
    }
  }

  // MARK: Without logind

  @Test func withoutLogindPAMSessionsAreCounted() {
    var m = SessionMachine(uid: user)
    _ = m.handle(.logindAbsent)
    #expect(m.knownSessions == nil)
    #expect(m.keysArrived(mayLift: true) == [.install(.live), .firstUnlock, .stateChanged])
    _ = m.handle(.pamSessionOpened)
    _ = m.handle(.pamSessionOpened)
    #expect(m.handle(.pamSessionClosed) == [])
    #expect(m.handle(.pamSessionClosed) == [.seal(.sessionsEnded), .stateChanged])
    #expect(m.handle(.pamSessionClosed) == [])
    #expect(m.pamSessions == 0)
  }

  @Test func withLogindPAMSessionsDoNotCount() {
    var m = unlocked(x(1))
    _ = m.handle(.pamSessionOpened)
    #expect(m.handle(.pamSessionClosed) == [])
    #expect(m.state == .unlocked)
  }

  @Test func aLogindThatAppearsWithoutSessionsGivesTime() {
    var m = SessionMachine(uid: user)
    _ = m.handle(.logindAbsent)
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.sessions([])) == [.startSessionTimer, .stateChanged])
    #expect(m.handle(.sessionTimerFired).first == .seal(.noSession))
  }

  @Test func withoutLogindScreenSaversLock() {
    var m = SessionMachine(uid: user)
    _ = m.handle(.logindAbsent)
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.screenSaver(peer: ":1.7", active: true)).first == .lock(.screenSaver))
    #expect(m.keysArrived(mayLift: true).first == .install(.staged))
    #expect(m.handle(.screenSaver(peer: ":1.7", active: false)).first == .goLive)
  }

  @Test func reasonsReadWell() {
    #expect("\(LockReason.lockedHint)" == "screen locked (LockedHint)")
    #expect("\(LockReason.sleep)" == "sleep")
    #expect("\(LockReason.command)" == "command")
    #expect("\(SealReason.started)" == "not unlocked yet")
    #expect(staged().lockers == ["LockedHint of session 1"])
  }
}
