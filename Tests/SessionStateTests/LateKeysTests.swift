import Testing

@testable import LatchkeySessionState

/// Keys that come minutes after their authentication began. Every event in between is later than the password.
@Suite struct LateKeysTests {
  private static let desktop = SessionFacts(id: "1", uid: 1000, type: "x11")
  private static let refused: [SessionEffect] = [.install(.refused(.session(.lockedMeanwhile)))]
  private static let ended: [SessionEffect] = [.install(.refused(.session(.sessionEnded)))]

  private func machine(_ sessions: SessionFacts...) -> SessionMachine {
    var machine = SessionMachine(uid: 1000)
    _ = machine.handle(.sessions(sessions))
    return machine
  }

  /// Every lock, and each way to end it without a password.
  static let locks: [[SessionEvent]] = [
    [.lockCommand],
    [.lockSignal(session: "1"), .unlockSignal(session: "1")],
    [.prepareForSleep(true), .prepareForSleep(false)],
    [.screenSaver(peer: ":1.1", active: true), .screenSaver(peer: ":1.1", active: false)],
    [.screenSaver(peer: ":1.1", active: true), .screenSaverVanished(peer: ":1.1")],
    [.sessions([SessionFacts(id: "1", uid: 1000, type: "x11", lockedHint: true)]), .sessions([desktop])],
    [
      .sessions([
        SessionFacts(id: "1", uid: 1000, type: "x11", isActive: false, seat: "seat0"),
        SessionFacts(id: "c1", uid: 120, sessionClass: "greeter", type: "x11", seat: "seat0"),
      ]), .sessions([desktop]),
    ],
  ]

  @Test(arguments: locks) func aLockThatCameAndWentIsNotLifted(events: [SessionEvent]) {
    var machine = machine(Self.desktop)
    _ = machine.keysArrived(mayLift: true)
    _ = machine.handle(.lockCommand)
    let (locks, endings) = (machine.locks, machine.endings)
    for event in events { _ = machine.handle(event) }
    #expect(machine.keysArrived(mayLift: true, locksBefore: locks, endingsBefore: endings) == Self.refused)
    // The next password's keys are accepted.
    #expect(machine.keysArrived(mayLift: true, locksBefore: machine.locks).first == .install(.live))
  }

  @Test(arguments: locks) func aLockBeforeTheFirstKeysLeavesWhatTheFirstUnlockOpens(events: [SessionEvent]) {
    var machine = machine(Self.desktop)
    let (locks, endings) = (machine.locks, machine.endings)
    for event in events { _ = machine.handle(event) }
    let effects = machine.keysArrived(mayLift: true, locksBefore: locks, endingsBefore: endings)
    #expect(effects.first == .install(.firstUnlockOnly))
    #expect(machine.state != .unlocked && !machine.hasStagedKeys)
  }

  @Test(arguments: locks) func aDaemonDoesNotEndForAPasswordFromBeforeALock(events: [SessionEvent]) {
    var machine = machine(Self.desktop)
    #expect(machine.mayBeReplaced(for: Claim(process: .unknown, machine: machine)))
    _ = machine.keysArrived(mayLift: true)
    #expect(!machine.mayBeReplaced(for: Claim(process: .unknown, machine: machine)))
    _ = machine.handle(.lockCommand)
    let claim = Claim(process: .unknown, machine: machine)
    #expect(machine.mayBeReplaced(for: claim))
    for event in events { _ = machine.handle(event) }
    #expect(!machine.mayBeReplaced(for: claim))
    // The next password may replace the daemon.
    #expect(machine.mayBeReplaced(for: Claim(process: .unknown, machine: machine)))
  }

  @Test func aDaemonEndsForNoPasswordWhileItHasOrAwaitsWhatThatOpens() {
    var machine = machine(SessionFacts(id: "1", uid: 1000, type: "x11", lockedHint: true))
    _ = machine.keysArrived(mayLift: true)
    #expect(machine.hasStagedKeys)
    #expect(!machine.mayBeReplaced(for: Claim(process: .unknown, machine: machine)))
    _ = machine.handle(.stagingTimerFired)
    let claim = Claim(process: .unknown, machine: machine)
    #expect(machine.mayBeReplaced(for: claim))
    // Keys in another daemon would stay in memory during the sleep, and would open an ended session.
    _ = machine.handle(.prepareForSleep(true))
    #expect(!machine.mayBeReplaced(for: Claim(process: .unknown, machine: machine)))
    _ = machine.handle(.prepareForSleep(false))
    _ = machine.handle(.sessions([]))
    #expect(!machine.mayBeReplaced(for: claim))
  }

  @Test func aLogoutWins() {
    var machine = machine(Self.desktop)
    let (locks, endings) = (machine.locks, machine.endings)
    _ = machine.handle(.sessions([]))
    #expect(machine.keysArrived(mayLift: true, locksBefore: locks, endingsBefore: endings) == Self.ended)
    #expect(machine.sessionKeyArrived(locksBefore: locks, endingsBefore: endings) == Self.ended)
    // The user is logged in again, but has not given a password yet.
    _ = machine.handle(.sessions([Self.desktop]))
    #expect(machine.keysArrived(mayLift: true, locksBefore: locks, endingsBefore: endings) == Self.ended)
    #expect(machine.state == .sealed)
  }

  @Test func aLogoutWinsWithoutLogind() {
    var machine = SessionMachine(uid: 1000)
    _ = machine.handle(.logindAbsent)
    _ = machine.handle(.pamSessionOpened)
    let endings = machine.endings
    _ = machine.handle(.pamSessionClosed)
    #expect(machine.keysArrived(mayLift: true, endingsBefore: endings) == Self.ended)
  }

  /// A password that was typed in a session opens nothing once that session has ended, even if other sessions go on.
  @Test func theEndOfItsOwnSessionWins() {
    let remote = SessionFacts(id: "2", uid: 1000, isRemote: true)
    var machine = machine(Self.desktop, remote)
    let process = PeerProcess.session(id: "2", uid: 1000, sessionClass: "user", type: "tty", isRemote: true)
    let claim = Claim(process: process, machine: machine)
    #expect(!machine.hasEnded(claim))
    _ = machine.handle(.sessions([Self.desktop]))
    #expect(machine.hasEnded(claim))
    // logind reused the name of the ended session.
    _ = machine.handle(.sessions([Self.desktop, remote]))
    #expect(machine.hasEnded(claim))
    #expect(
      machine.keysArrived(mayLift: true, locksBefore: claim.locks, endingsBefore: claim.endings, session: claim.session)
        == Self.ended)
    #expect(machine.state == .sealed)
    // The end of a greeter's session does not count, because a greeter belongs to no user.
    let greeter = PeerProcess.session(id: "c1", uid: 115, sessionClass: "greeter", type: "x11", isRemote: false)
    #expect(Claim(process: greeter, machine: machine).session == nil)
    // The end of another user's session with the same name does not count either.
    let other = PeerProcess.session(id: "1", uid: 1001, sessionClass: "user", type: "x11", isRemote: false)
    #expect(Claim(process: other, machine: machine).session == nil)
  }

  /// If one of several sessions ends, that is not a logout.
  @Test func anotherSessionThatEndsIsNone() {
    var machine = machine(Self.desktop, SessionFacts(id: "2", uid: 1000, isRemote: true))
    let (locks, endings) = (machine.locks, machine.endings)
    _ = machine.handle(.sessions([Self.desktop]))
    let effects = machine.keysArrived(mayLift: true, locksBefore: locks, endingsBefore: endings)
    #expect(effects.first == .install(.live))
  }

  /// A lock that existed when logind first answered may be as old as the login, so it does not count as later than the login.
  @Test func aLockerThatWasThereFirstIsNoNewLock() {
    var machine = SessionMachine(uid: 1000)
    let (locks, endings) = (machine.locks, machine.endings)
    _ = machine.handle(.sessions([SessionFacts(id: "1", uid: 1000, type: "x11", lockedHint: true)]))
    let effects = machine.keysArrived(mayLift: true, locksBefore: locks, endingsBefore: endings)
    #expect(effects.first == .install(.staged))
  }
}
