import LatchkeyControl
import LatchkeyPosix
import LatchkeyPrivateBus
import LatchkeyReasons
import LatchkeySystemd
import Testing

@testable import LatchkeySessionState

@Suite(.timeLimit(.minutes(20))) struct SessionWatchTests {
  /// Either of two calls ends the grants and the waiting requests at a lock, and only once.
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

  /// The end of the grants may wait for the disk, and the keys must be gone earlier.
  @Test func stagedKeysAreErasedBeforeALockIsTold() throws {
    let scene = try Scene(sessions: x(1, hint: true))
    try scene.loop.run(until: "the locker") { scene.watch.machine.lockerUp }
    #expect(try scene.keysArrive() == .staged)
    scene.daemon.done = []
    scene.watch.lock()
    #expect(scene.daemon.done.filter { ["erase staged", "locked"].contains($0) } == ["erase staged", "locked"])
  }

  /// A locker that was up before the daemon began does not refuse keys on their way, but ends grants.
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

  /// One of several sessions ends. A password that was typed in it no longer counts, but a password from elsewhere does.
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

  /// A lock during the first login leaves the keys of the first unlock.
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

  /// Keys that fail to open the vault do not count as the first unlock.
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

  /// Otherwise they would stay in memory until logind answers.
  @Test func theEndOfTheSessionErasesKeysThatWaitForLogind() throws {
    let scene = try Scene(sessions: x(1))
    #expect(try scene.keysArrive() == .live)
    scene.watch.lock()
    scene.logind.isSilent = true
    var outcome: KeyOutcome?
    scene.watch.keysArrived(mayLift: true, by: scene.claim) { outcome = $0 }
    try scene.logind.end("1")
    try scene.loop.run(until: "keys") { outcome != nil }
    #expect(outcome == .refused(.session(.sessionEnded)))
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
    // logind sends no signal for the change.
    try scene.logind.set(t(1, state: "closing"))
    scene.watch.pamSessionClosed()
    try scene.run(until: "erase all: last session ended")
  }
}
