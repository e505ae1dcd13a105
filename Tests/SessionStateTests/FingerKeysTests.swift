import LatchkeySessionState
import Testing

/// All keys again, by a finger at the locked screen.
@Suite struct FingerKeysTests {
  private func arrive(_ machine: inout SessionMachine) -> SessionEffect? {
    machine.fingerKeysArrived(locksBefore: machine.locks, endingsBefore: machine.endings).first
  }

  private func isRefused(_ effect: SessionEffect?) -> Bool {
    if case .install(.refused) = effect { true } else { false }
  }

  /// A session that a password unlocked, behind a locker.
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
}
