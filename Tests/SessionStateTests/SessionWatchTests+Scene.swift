import LatchkeyControl
import LatchkeyPosix
import LatchkeyPrivateBus
import LatchkeyReasons
import LatchkeySystemd
import Testing

@testable import LatchkeySessionState

/// The daemon, logind and the bus in these tests.
extension SessionWatchTests {
  /// A daemon without keys that records its calls.
  final class Daemon: SessionWatchDelegate {
    var done: [String] = []
    /// How often the watch ended all helpers.
    var ends = 0
    /// The claims of single helpers, and the number of helpers that were ended.
    var claims: [Claim] = []
    var unwanted = 0
    /// Called if helpers take a moment to end.
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
    /// The number of reported locks.
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

    /// The claim of an authentication that begins when the keys come.
    var claim: Claim { Claim(process: .unknown, machine: watch.machine) }

    /// Sends the machine to sleep while helpers take a moment to end.
    ///
    /// - Returns: the function to call when the helpers have ended, for the newest sleep.
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
