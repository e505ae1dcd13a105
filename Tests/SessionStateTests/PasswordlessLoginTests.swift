import LatchkeySessionState
import Testing

/// A machine in the given state that then learned that the login has no password.
private func passwordless(_ start: SessionMachine = machine(x(1))) -> SessionMachine {
  var machine = start
  _ = machine.handle(.passwordless(true))
  precondition(machine.isPasswordless && machine.state == .unlocked)
  return machine
}

/// A login without a password counts as unlocked, whatever its sessions report.
@Suite struct PasswordlessLoginTests {
  private static let events: [SessionEvent] = [
    .sessions([]), .sessions([x(1)]), .sessions([x(1, hint: true)]), .sessions([x(1, active: false), greeter()]),
    .sessions([x(1), x(2, hint: true)]), .sessions([t(2)]), .sessions([t(2, hint: true)]),
    .sessions([x(1, state: "closing")]), .logindAbsent, .lockSignal(session: "1"), .lockSignal(session: "99"),
    .unlockSignal(session: "1"), .prepareForSleep(true), .prepareForSleep(false), .hibernate,
    .screenSaver(peer: ":1.7", active: true), .screenSaver(peer: ":1.7", active: false),
    .screenSaverVanished(peer: ":1.7"), .passwordless(true), .lockCommand, .pamSessionOpened, .pamSessionClosed,
    .stagingTimerFired, .sessionTimerFired,
  ]

  /// The states of a machine before it learns that there is no password.
  private static func starts() -> [SessionMachine] {
    var locked = unlocked(x(1))
    _ = locked.handle(.lockCommand)
    var alone = SessionMachine(uid: 1000)
    _ = alone.handle(.logindAbsent)
    _ = alone.handle(.pamSessionOpened)
    var awaiting = machine()
    _ = awaiting.keysArrived(mayLift: true)
    return [
      SessionMachine(uid: 1000), machine(), machine(x(1)), unlocked(x(1)), unlocked(t(1), t(2)), staged(), locked,
      alone,
      awaiting,
    ]
  }

  @Test func nothingLocksItNorSealsIt() {
    for start in Self.starts() {
      let passwordless = passwordless(start)
      for first in Self.events {
        for second in Self.events {
          var m = passwordless
          for event in [first, second] {
            let effects = m.handle(event)
            #expect(m.state == .unlocked && m.isPasswordless && !m.hasStagedKeys, "\(first), \(second)")
            #expect(effects == [] || effects == [.stateChanged], "\(first), \(second): \(effects)")
          }
        }
      }
    }
  }

  @Test func whatIsKnownOfLockersIsKept() {
    var m = passwordless()
    _ = m.handle(.sessions([x(1, hint: true)]))
    #expect(m.lockerUp && m.lockers == ["LockedHint of session 1"], "prompts wait behind it")
    _ = m.handle(.screenSaver(peer: ":1.7", active: true))
    _ = m.handle(.sessions([x(1)]))
    #expect(m.lockers == ["screen saver :1.7"])
    #expect(m.handle(.screenSaver(peer: ":1.7", active: false)) == [.stateChanged])
    #expect(!m.lockerUp)
  }

  @Test func keysThatComeAreNotNeeded() {
    for mayLift in [true, false] {
      var m = passwordless(staged())
      #expect(m.keysArrived(mayLift: mayLift) == [.install(.notNeeded)])
      #expect(m.lockerUp && !m.hasStagedKeys)
    }
  }

  // MARK: Becoming so

  @Test func fromEveryState() {
    var m = machine(x(1))
    #expect(m.handle(.passwordless(true)) == [.firstUnlock, .stateChanged])
    #expect(m.handle(.passwordless(true)) == [])
    m = unlocked(x(1))
    #expect(m.handle(.passwordless(true)) == [.stateChanged])
    for lock: SessionEvent in [.lockCommand, .prepareForSleep(true), .sessions([x(1, hint: true)])] {
      m = unlocked(x(1))
      _ = m.handle(lock)
      #expect(m.handle(.passwordless(true)) == [.stateChanged], "it was unlocked once before")
      #expect(m.state == .unlocked)
    }
    m = staged()
    #expect(m.handle(.passwordless(true)) == [.dropStaged, .cancelStagingTimer, .stateChanged])
    #expect(m.state == .unlocked && !m.hasStagedKeys)
    #expect(m.handle(.sessions([x(1)])) == [.stateChanged], "no key of then goes live")
  }

  @Test func nobodyWaitsForASession() {
    var m = machine()
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.passwordless(true)) == [.cancelSessionTimer, .stateChanged])
    #expect(m.handle(.sessionTimerFired) == [])
  }

  // MARK: Becoming protected again

  @Test func withNothingInTheWayItStaysOpenAndCanBeLocked() {
    var m = passwordless()
    #expect(m.handle(.passwordless(false)) == [.stateChanged])
    #expect(m.state == .unlocked && !m.isPasswordless)
    #expect(m.handle(.lockCommand) == [.lock(.command), .stateChanged])
    #expect(m.keysArrived(mayLift: true) == [.install(.live), .stateChanged])
    #expect(m.handle(.sessions([])) == [.seal(.sessionsEnded), .stateChanged])
  }

  @Test(arguments: [
    ([SessionEvent.sessions([x(1, hint: true)])], LockReason.lockedHint),
    ([.screenSaver(peer: ":1.7", active: true)], .screenSaver),
    ([.sessions([x(1, active: false), greeter()])], .greeter),
    ([.prepareForSleep(true)], .sleep),
    ([.sessions([x(1, hint: true)]), .prepareForSleep(true)], .sleep),
    // A desktop without a locker, and a terminal. Only the lock request shows that they are locked.
    ([.lockSignal(session: "1")], .lockSignal),
    ([.sessions([t(2)]), .lockSignal(session: "2")], .lockSignal),
  ])
  func aLockThatStandsCounts(events: [SessionEvent], reason: LockReason) {
    var m = passwordless()
    for event in events { _ = m.handle(event) }
    let (wasUp, before) = (m.lockerUp, m.lockers)
    #expect(m.handle(.passwordless(false)) == [.lock(reason), .stateChanged])
    #expect(m.state == .locked(reason) && m.lockerUp == wasUp && m.lockers == before)
  }

  @Test func aLockThatIsOverDoesNot() {
    let over: [[SessionEvent]] = [
      [.sessions([x(1, hint: true)]), .sessions([x(1)])], [.prepareForSleep(true), .prepareForSleep(false)],
      [.screenSaver(peer: ":1.7", active: true), .screenSaverVanished(peer: ":1.7")], [.lockCommand],
      [.lockSignal(session: "1"), .unlockSignal(session: "1")], [.lockSignal(session: "99")], [.hibernate],
      [.lockSignal(session: "1"), .sessions([x(1, hint: true)]), .sessions([x(1)])],
      // One of two desktops is not locked.
      [.sessions([x(1), x(2)]), .lockSignal(session: "2")],
    ]
    for events in over {
      var m = passwordless()
      for event in events { _ = m.handle(event) }
      #expect(m.handle(.passwordless(false)) == [.stateChanged], "\(events)")
      #expect(m.state == .unlocked)
    }
  }

  // The machine always decides by everything that it knows, so an event without news changes nothing.
  @Test func nothingIsLeftForTheNextEvent() {
    let facts: [[SessionFacts]] = [[x(1)], [x(1, hint: true)], [x(1), x(2, hint: true)], [t(1)], [t(1), t(2)]]
    for known in facts {
      for event in Self.events where event != .logindAbsent {
        var m = passwordless(machine())
        _ = m.handle(.sessions(known))
        if case .sessions = event { continue }
        _ = m.handle(event)
        _ = m.handle(.passwordless(false))
        let (state, effects) = (m.state, m.handle(.sessions(known)))
        #expect(effects == [] && m.state == state, "\(known), \(event)")
      }
    }
  }

  @Test func withoutASessionOneHasToComeSoon() {
    var m = passwordless()
    _ = m.handle(.sessions([]))
    #expect(m.handle(.passwordless(false)) == [.startSessionTimer, .stateChanged])
    #expect(m.handle(.sessionTimerFired) == [.seal(.noSession), .cancelSessionTimer, .stateChanged])
    m = passwordless(machine())
    _ = m.handle(.passwordless(false))
    #expect(m.handle(.sessions([x(1)])).contains(.cancelSessionTimer))
    #expect(m.state == .unlocked)
  }

  @Test func withoutLogindTheLastSessionOfPAMSealsAgain() {
    var m = SessionMachine(uid: 1000)
    _ = m.handle(.logindAbsent)
    _ = m.handle(.pamSessionOpened)
    m = passwordless(m)
    _ = m.handle(.pamSessionOpened)
    #expect(m.handle(.pamSessionClosed) == [] && m.pamSessions == 1)
    #expect(m.handle(.passwordless(false)) == [.stateChanged])
    #expect(m.handle(.pamSessionClosed) == [.seal(.sessionsEnded), .stateChanged])
  }

  @Test func whoHasAPasswordIsNotChanged() {
    for start in Self.starts() {
      var m = start
      let (state, isStaged) = (m.state, m.hasStagedKeys)
      #expect(m.handle(.passwordless(false)) == [])
      #expect(m.state == state && m.hasStagedKeys == isStaged)
    }
  }

  // MARK: Keys that did not open the vault

  @Test func keysThatFailSealItAndItCanComeAgain() {
    var m = passwordless()
    #expect(m.handle(.keysFailed) == [.seal(.keysFailed), .stateChanged])
    #expect(m.state == .sealed && !m.isPasswordless && m.sealReason == .keysFailed)
    #expect(m.handle(.keysFailed) == [])
    #expect(m.handle(.passwordless(true)) == [.firstUnlock, .stateChanged])
    _ = m.handle(.passwordless(false))
    #expect(m.handle(.lockCommand) == [.lock(.command), .stateChanged])
  }

  // MARK: A vault that was put aside

  @Test func aVaultThatIsNotThereIsSealedWhateverItWas() {
    var m = passwordless()
    #expect(m.handle(.vaultPutAside) == [.seal(.putAside), .stateChanged])
    #expect(m.state == .sealed && !m.isPasswordless && m.sealReason == .putAside)
    // The event changes nothing in a sealed vault.
    #expect(m.handle(.vaultPutAside) == [])
    _ = m.handle(.passwordless(true))
    _ = m.handle(.keysFailed)
    #expect(m.handle(.vaultPutAside) == [] && m.sealReason == .putAside)
  }
}
