import LatchkeyControl
import LatchkeyPosix
import LatchkeyPrivateBus
import LatchkeyReasons
import LatchkeySystemd
import Testing

@testable import LatchkeySessionState

/// The daemon, logind and the bus of these tests.
extension SessionWatchTests {
  /// A daemon without keys: it writes down what it is told.
  final class Daemon: SessionWatchDelegate {
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
    func lockErasedNothing() {
      locks += 1
      done.append("locked")
    }
    func stagedKeysGoLive() { done.append("go live") }
    func firstUnlockHappened() { done.append("first unlock") }
    func sessionStateChanged() { done.append("changed") }
  }

  final class Scene {
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

    /// The claim of an authentication that begins when its keys come.
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
}
