import LatchkeyPrivateBus
import LatchkeySystemd
import Testing

@testable import LatchkeySessionState

/// A watch with a fake logind on a private bus, and the watch's reports.
private final class Scene {
  let daemon: PrivateBus
  let loop: EventLoop
  var logind: FakeLogind?
  var reports: [LogindWatch.Report] = []
  /// Called at each report, before the watch goes on.
  var atReport: (LogindWatch.Report) -> Void = { _ in }
  private(set) lazy var watch = LogindWatch(uid: 1000, loop: loop, address: .address(daemon.address)) {
    [unowned self] report in
    reports.append(report)
    atReport(report)
  }

  init(logind exists: Bool = true, sessions: SessionFacts..., configure: (FakeLogind) -> Void = { _ in }) throws {
    daemon = try PrivateBus()
    loop = try EventLoop()
    if exists {
      let logind = try FakeLogind(daemon, loop)
      for facts in sessions { logind.setSilently(facts) }
      configure(logind)
      self.logind = logind
    }
    watch.start()
  }

  func run(until report: LogindWatch.Report) throws {
    try loop.run(until: "\(report)") { reports.contains(report) }
  }

  /// Waits until the watch has read all its messages.
  func settle() throws {
    try loop.run(until: "the first report") {
      reports.contains { if case .sessions = $0 { true } else { false } }
    }
    try refresh()
    reports = []
  }

  @discardableResult
  func refresh() throws -> Bool {
    var answer: Bool?
    watch.refresh { answer = $0 }
    try loop.run(until: "refresh") { answer != nil }
    return answer ?? false
  }
}

@Suite(.timeLimit(.minutes(20))) struct LogindWatchTests {
  @Test func sessionsAreReadWithAllTheirFacts() throws {
    let one = SessionFacts(
      id: "1", uid: 1000, type: "wayland", lockedHint: true, service: "gdm-password", seat: "seat0")
    let two = SessionFacts(id: "2", uid: 1001, isActive: false, state: "online", isRemote: true, service: "sshd")
    let scene = try Scene(sessions: one, two)
    try scene.run(until: .sessions([one, two]))
    #expect(!scene.reports.contains(.absent))
  }

  @Test func sessionsComeChangeAndGo() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    try scene.logind?.set(t(2))
    try scene.run(until: .sessions([x(1), t(2)]))
    try scene.logind?.set(x(1, hint: true))
    try scene.run(until: .sessions([x(1, hint: true), t(2)]))
    try scene.logind?.set(x(1, hint: true, active: false))
    try scene.run(until: .sessions([x(1, hint: true, active: false), t(2)]))
    try scene.logind?.end("1")
    try scene.run(until: .sessions([t(2)]))
  }

  @Test func locksAreToldForTheUsersSessionsOnly() throws {
    let other = SessionFacts(id: "3", uid: 1001, type: "x11")
    let scene = try Scene(sessions: x(1), other)
    try scene.settle()
    try scene.logind?.lock("3")
    try scene.logind?.unlock("1")
    try scene.logind?.lock("1")
    try scene.run(until: .lockSignal(session: "1"))
    #expect(scene.reports == [.unlockSignal(session: "1"), .lockSignal(session: "1")])
    // A lock of an unknown session counts, because an unneeded lock does no harm.
    try scene.logind?.lock("9")
    try scene.run(until: .lockSignal(session: FakeLogind.path("9")))
  }

  @Test func forgedSignalsAreNotHeard() throws {
    let scene = try Scene(sessions: x(1, hint: true))
    try scene.settle()
    let forger = try scene.daemon.connect(scene.loop)
    _ = try forger.name(scene.loop)
    // The forger sends to every connection, because only the name of the watch's connection is unknown here.
    for number in 0..<8 {
      let target = ":1.\(number)"
      try? forger.emitSignal(
        path: FakeLogind.path("1"), interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
        to: target,
        build: { w in
          w.appendString("org.freedesktop.login1.Session")
          w.appendDictionary("sv") { w in
            w.appendEntry("sv") { w in
              w.appendString("LockedHint")
              w.appendVariant("b") { $0.appendBool(false) }
            }
          }
          w.appendStrings([])
        })
      try? forger.emitSignal(
        path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager", member: "PrepareForSleep",
        to: target, build: { $0.appendBool(false) })
      try? forger.emitSignal(
        path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager", member: "SessionRemoved",
        to: target,
        build: { w in
          w.appendString("1")
          w.appendObjectPath(FakeLogind.path("1"))
        })
    }
    try scene.loop.run(for: .milliseconds(100))
    #expect(scene.reports == [])
  }

  @Test func sleepWaitsUntilTheKeysAreErased() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    try scene.loop.run(until: "the delay lock") { scene.watch.holdsSleepInhibitor }
    #expect(scene.logind?.heldInhibitors == 1)
    var heldWhileErasing: Int?
    scene.atReport = { [unowned scene] report in
      if report == .prepareForSleep(true) { heldWhileErasing = scene.logind?.heldInhibitors }
    }
    let start = ContinuousClock.now
    try scene.logind?.prepareForSleep(true)
    try scene.loop.run(until: "sleep may go on") { scene.logind?.heldInhibitors == 0 }
    #expect(ContinuousClock.now - start < Pace.limit(.seconds(1)))
    #expect(heldWhileErasing == 1)
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.logind?.prepareForSleep(false)
    try scene.run(until: .prepareForSleep(false))
    try scene.loop.run(until: "the lock again") { scene.logind?.heldInhibitors == 1 }
  }

  @Test func sleepThatBeganBeforeIsSeen() throws {
    let scene = try Scene(sessions: x(1)) { $0.isPreparingForSleep = true }
    try scene.run(until: .prepareForSleep(true))
    #expect(!scene.watch.holdsSleepInhibitor)
  }

  @Test func aRefusedDelayLockIsNoHindrance() throws {
    let scene = try Scene(sessions: x(1)) { $0.refusesInhibitors = true }
    try scene.settle()
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.logind?.prepareForSleep(true)
    try scene.run(until: .prepareForSleep(true))
  }

  @Test func aRefreshTellsWhatNoSignalToldYet() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    scene.logind?.setSilently(x(1, hint: true))
    var reportsAtAnswer: [LogindWatch.Report]?
    scene.watch.refresh { _ in reportsAtAnswer = scene.reports }
    #expect(reportsAtAnswer == nil)
    try scene.loop.run(until: "refresh") { reportsAtAnswer != nil }
    #expect(reportsAtAnswer?.contains(.sessions([x(1, hint: true)])) == true)
  }

  @Test func aSilentLogindIsNoAnswer() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    scene.logind?.isSilent = true
    let start = ContinuousClock.now
    #expect(try !scene.refresh())
    #expect(ContinuousClock.now - start < Pace.limit(.seconds(3)))
    scene.logind?.answerAll()
    #expect(try scene.refresh())
  }

  /// A logind that has reported one session and no longer answers.
  private func silent() throws -> (Scene, FakeLogind) {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    let logind = try #require(scene.logind)
    logind.isSilent = true
    return (scene, logind)
  }

  @Test func aNewSessionThatASilentLogindDoesNotTellIsAskedForAgain() throws {
    let (scene, logind) = try silent()
    let before = logind.listings
    try logind.set(t(2))
    try scene.loop.run(until: "another question") { logind.listings > before + 1 }
    logind.answerAll()
    try scene.run(until: .sessions([x(1), t(2)]))
    // After logind's answer, the watch knows the new session's locks.
    try logind.set(t(2, hint: true))
    try scene.run(until: .sessions([x(1), t(2, hint: true)]))
  }

  @Test func manyQuestionsThatFailAtOnceAreAskedAgainSoon() throws {
    let (scene, logind) = try silent()
    let before = logind.listings
    for id in 2..<9 { try logind.set(t(id)) }
    try scene.loop.run(until: "a question for each, and another one") { logind.listings > before + 7 }
    // The watch asks again once, and not once for each failure. A late failure may have doubled the wait once more.
    #expect(logind.listings == before + 8 && scene.watch.backOff <= .seconds(4))
    logind.answerAll()
    try scene.run(until: .sessions([x(1)] + (2..<9).map { t($0) }))
  }

  @Test func aRefreshBeforeTheFirstAnswerWaitsForIt() throws {
    let scene = try Scene(sessions: x(1))
    var reportsAtAnswer: [LogindWatch.Report]?
    var answered: Bool?
    scene.watch.refresh {
      answered = $0
      reportsAtAnswer = scene.reports
    }
    try scene.loop.run(until: "refresh") { answered != nil }
    #expect(answered == true)
    #expect(reportsAtAnswer?.contains(.sessions([x(1)])) == true)
  }

  @Test func withoutASystemBusThereIsNoLogind() throws {
    let loop = try EventLoop()
    var reports: [LogindWatch.Report] = []
    let watch = LogindWatch(uid: 1000, loop: loop, address: .address("unix:path=/nonexistent/bus")) {
      reports.append($0)
    }
    watch.start()
    #expect(reports == [.absent])
    var answer: Bool?
    watch.refresh { answer = $0 }
    try loop.run(until: "refresh") { answer != nil }
    #expect(answer == true)
    try loop.run(for: .milliseconds(1200))
    #expect(reports == [.absent])
  }

  @Test func aRefusedRuleIsNotTakenForSilence() throws {
    let daemon = try PrivateBus(matchRules: 2)
    let loop = try EventLoop()
    let logind = try FakeLogind(daemon, loop)
    logind.setSilently(x(1))
    var reports: [LogindWatch.Report] = []
    let watch = LogindWatch(uid: 1000, loop: loop, address: .address(daemon.address)) { reports.append($0) }
    watch.start()
    try loop.run(until: "absent") { reports == [.absent] }
    // The watch tries again, and finds a bus that accepts all its rules.
    daemon.stop()
    try daemon.restart(matchRules: 100)
    let logindAgain = try FakeLogind(daemon, loop)
    logindAgain.setSilently(x(1))
    try loop.run(until: "sessions") { reports.contains(.sessions([x(1)])) }
    withExtendedLifetime((logind, logindAgain)) {}
  }

  @Test func aLogindThatComesLaterIsFound() throws {
    let scene = try Scene(logind: false)
    try scene.run(until: .absent)
    #expect(try scene.refresh())
    let logind = try FakeLogind(scene.daemon, scene.loop, ownsName: false)
    logind.setSilently(x(1))
    scene.logind = logind
    try logind.ownName()
    try scene.run(until: .sessions([x(1)]))
    #expect(scene.reports.count { $0 == .absent } == 1)
  }

  @Test func aRestartOfLogindIsFollowed() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    scene.logind = nil
    try scene.loop.run(for: .milliseconds(50))
    #expect(scene.reports == [])
    #expect(try !scene.refresh())
    let logind = try FakeLogind(scene.daemon, scene.loop, ownsName: false)
    logind.setSilently(x(1, hint: true))
    scene.logind = logind
    try logind.ownName()
    try scene.run(until: .sessions([x(1, hint: true)]))
    try logind.set(x(1))
    try scene.run(until: .sessions([x(1)]))
    try scene.loop.run(until: "a lock of the new one") { logind.heldInhibitors == 1 }
  }

  /// A delay lock from the new logind must not hold up a sleep for which nothing is left to do.
  @Test func aRestartOfLogindBeforeSleepHoldsUpNothing() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    try scene.logind?.prepareForSleep(true)
    try scene.loop.run(until: "sleep may go on") { scene.logind?.heldInhibitors == 0 }
    scene.logind = nil
    let logind = try FakeLogind(scene.daemon, scene.loop, ownsName: false)
    logind.isPreparingForSleep = true
    logind.setSilently(x(1, hint: true))
    scene.logind = logind
    try logind.ownName()
    try scene.run(until: .sessions([x(1, hint: true)]))
    // The question comes after the request for the delay lock, so the answer comes after the lock.
    try scene.refresh()
    #expect(!scene.watch.holdsSleepInhibitor)
    try scene.loop.run(until: "the end of its lock") { logind.heldInhibitors == 0 }
    #expect(scene.reports.count { $0 == .prepareForSleep(true) } == 1)
    try logind.prepareForSleep(false)
    try scene.loop.run(until: "a lock of the new one") { logind.heldInhibitors == 1 }
  }

  @Test func aLostBusIsConnectedAgain() throws {
    let scene = try Scene(sessions: x(1))
    try scene.settle()
    scene.daemon.stop()
    try scene.loop.run(for: .milliseconds(50))
    #expect(try !scene.refresh())
    #expect(!scene.watch.holdsSleepInhibitor)
    #expect(scene.reports == [])
    try scene.daemon.restart()
    let logind = try FakeLogind(scene.daemon, scene.loop)
    logind.setSilently(x(1, hint: true))
    scene.logind = logind
    try scene.run(until: .sessions([x(1, hint: true)]))
  }
}
