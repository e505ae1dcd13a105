import LatchkeyReasons
import Testing

@testable import LatchkeySessionState

/// The machine goes to sleep, or the daemon ends.
extension SessionWatchTests {
  /// Helpers are ended even if there is nothing to erase.
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

  /// The helpers erase the password before the machine sleeps.
  @Test func sleepWaitsForHelpersThatEnd() throws {
    let scene = try Scene(sessions: x(1))
    let gone = try scene.beginSleep()
    #expect(scene.logind.heldInhibitors == 1 && scene.watch.machine.isGoingToSleep)
    gone()
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.loop.run(until: "the end of the delay lock") { scene.logind.heldInhibitors == 0 }
    try scene.logind.prepareForSleep(false)
    try scene.loop.run(until: "the next delay lock") { scene.watch.holdsSleepInhibitor }
    // A helper works longer than the sleep lasts. The delay lock then holds for the next sleep.
    try scene.logind.prepareForSleep(true)
    try scene.loop.run(until: "helpers to end") { scene.daemon.ends == 2 }
    try scene.logind.prepareForSleep(false)
    try scene.loop.run(until: "awake") { !scene.watch.machine.isGoingToSleep }
    gone()
    #expect(scene.watch.holdsSleepInhibitor && scene.logind.heldInhibitors == 1)
  }

  /// Grants and waiting requests must not stay in memory during a sleep.
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

  /// Every answer about the sessions repeats that the machine goes to sleep. By then, the ending helpers may no longer be found.
  @Test func aSleepThatIsToldAgainWaitsForHelpersThatEndAlready() throws {
    let scene = try Scene(sessions: x(1))
    let gone = try scene.beginSleep()
    scene.daemon.leave = nil
    let locks = scene.watch.machine.locks
    var claim: Claim?
    scene.watch.claim(by: .unknown) { claim = $0 }
    try scene.loop.run(until: "the reading") { claim != nil }
    #expect(scene.watch.holdsSleepInhibitor && scene.logind.heldInhibitors == 1)
    // The sleep goes on, and during a sleep no password is accepted.
    #expect(scene.watch.machine.locks == locks && scene.daemon.ends == 1)
    #expect(claim.map(scene.watch.machine.refusal) == .session(.goingToSleep))
    gone()
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.loop.run(until: "the end of the delay lock") { scene.logind.heldInhibitors == 0 }
  }

  /// At a sleep, the daemon erases waiting keys first, because the sleep waits for nothing else.
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
      // The device key service does not answer.
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
    // Keys that come after the delay lock ended are refused too.
    outcome = nil
    scene.watch.keysArrived(mayLift: true, by: scene.claim, after: { goOn = $0 }) { outcome = $0 }
    #expect(outcome == .refused(.session(.goingToSleep)))
    goOn()
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
}
