import LatchkeySessionState
import Testing

/// Keys that are on their way or set aside when a lock comes.
@Suite struct KeysInFlightTests {
  @Test func aLoginAtAGreeterIsNoLock() {
    // A login by gdm while the daemon runs for another session: the keys come, then the desktop appears, then it is shown.
    for start in [machine(t(2)), machine()] {
      var m = start
      _ = m.handle(.sessions([t(2), greeter()]))
      _ = m.keysArrived(mayLift: true)
      #expect(m.handle(.sessions([t(2), x(1, active: false), greeter()])).allSatisfy { !$0.erases })
      #expect(m.handle(.sessions([t(2), x(1, active: false), greeter()])) == [])
      #expect(m.handle(.sessions([t(2), x(1), greeter(active: false)])) == [])
      #expect(m.state == .unlocked && !m.lockerUp)
      #expect(m.handle(.sessions([t(2), x(1, active: false), greeter()])).first == .lock(.greeter))
    }
  }

  @Test func aGreeterInFrontErasesStagedKeys() {
    var m = unlocked(x(1))
    _ = m.handle(.screenSaver(peer: ":1.7", active: true))
    _ = m.keysArrived(mayLift: true)
    #expect(m.handle(.sessions([x(1, active: false), greeter()])).first == .dropStaged)
    #expect(m.state == .locked(.screenSaver))
  }

  @Test func everyLockIsNewerThanKeysOnTheirWay() {
    let locks: [[SessionEvent]] = [
      [.screenSaver(peer: ":1.7", active: true), .screenSaver(peer: ":1.7", active: false)],
      [.sessions([x(1, hint: true)]), .sessions([x(1)])],
      [.sessions([x(1, active: false), greeter()]), .sessions([x(1), greeter(active: false)])],
      [.prepareForSleep(true), .prepareForSleep(false)], [.lockSignal(session: "1")], [.lockCommand],
    ]
    for events in locks {
      var m = unlocked(x(1))
      _ = m.handle(.lockCommand)
      let before = m.locks
      for event in events { _ = m.handle(event) }
      #expect(m.keysArrived(mayLift: true, locksBefore: before) == [.install(.refused(.session(.lockedMeanwhile)))])
      #expect(m.keysArrived(mayLift: true, locksBefore: m.locks).first == .install(.live), "\(events)")
    }
  }

  @Test func aLockerThatWasUpBeforeIsNotNew() {
    // A daemon that starts behind a locker gets the keys that lift the lock.
    var m = SessionMachine(uid: 1000)
    let before = m.locks
    _ = m.handle(.screenSaverFound(peer: ":1.7"))
    _ = m.handle(.sessions([x(1, hint: true)]))
    #expect(m.keysArrived(mayLift: true, locksBefore: before).first == .install(.staged))
    _ = m.handle(.screenSaverFound(peer: ":1.8"))
    _ = m.handle(.sessions([x(1)]))
    _ = m.handle(.screenSaver(peer: ":1.7", active: false))
    #expect(m.hasStagedKeys)
    #expect(m.handle(.screenSaver(peer: ":1.8", active: false)).first == .goLive)
    // A found locker still erases live keys.
    m = unlocked(x(1))
    #expect(m.handle(.screenSaverFound(peer: ":1.7")) == [.lock(.screenSaver), .stateChanged])
  }
}
