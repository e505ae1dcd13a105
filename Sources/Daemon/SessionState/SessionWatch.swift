import LatchkeyControl
import LatchkeyPosix
import LatchkeySystemd

/// Carries out the machine's effects. All calls come from the event loop. Calls that erase keys come first, and must not wait
/// for anything.
public protocol SessionWatchDelegate: AnyObject {
  /// Erase A in every form, staged keys included.
  func eraseUnlockedKeys(_ reason: LockReason)
  /// Erase all keys.
  func eraseAllKeys(_ reason: SealReason)
  /// Erase the A that was set aside.
  func eraseStagedKeys()
  /// End the helpers of authentications that must bring no keys any more, even if there is nothing to erase.
  ///
  /// - Parameter gone: to be called once, at once or later: after the helpers have erased their memory, or after a time limit.
  func endDerivations(_ which: UnwantedDerivations, gone: @escaping () -> Void)
  /// A lock or a locker came when no key was left to erase. Earlier answers of a person no longer count, and waiting requests end.
  /// For a lock that erases keys, only the call that erases them comes.
  func lockErasedNothing()
  /// The tier key A that was set aside becomes live.
  func stagedKeysGoLive()
  /// C became live, for the first time since it was sealed.
  func firstUnlockHappened()
  /// `machine` has changed; all other effects are done.
  func sessionStateChanged()
}

/// The authentications whose keys are no longer wanted.
public enum UnwantedDerivations {
  case all
  /// The authentications that fulfil this condition.
  case claimed((Claim) -> Bool)
}

/// Arrived keys that wait until logind and their caller are ready.
private final class Arrival {
  /// ``SessionMachine/locks`` when the keys came.
  let locks: UInt64
  /// The authentication that brings them.
  let claim: Claim
  let decide: (inout SessionMachine) -> [SessionEffect]
  /// This closure holds the keys, so it is dropped at once after its call.
  var completion: ((KeyOutcome) -> Void)?
  var isPrepared = false
  var hasAnswered: Bool?

  init(
    locks: UInt64, _ claim: Claim, _ decide: @escaping (inout SessionMachine) -> [SessionEffect],
    _ completion: @escaping (KeyOutcome) -> Void
  ) {
    (self.locks, self.claim, self.decide, self.completion) = (locks, claim, decide, completion)
  }

  deinit { completion?(SessionWatch.ended) }
}

/// Drives the state machine by logind, the screen savers and the daemon's own events.
public final class SessionWatch {
  /// The state. Changes only through this object.
  public private(set) var machine: SessionMachine

  private let loop: EventLoop
  private weak var delegate: (any SessionWatchDelegate)?
  private let systemBus: Bus.Address
  private var logind: LogindWatch?
  private var screenSavers: ScreenSaverWatch?
  private var stagingTimer: EventSource?
  private var sessionTimer: EventSource?
  /// The number of logind's reports of all sessions, and the locks and endings that the last one added to the machine.
  private var reports: UInt64 = 0
  private var lastReport = (locks: UInt64(0), endings: UInt64(0))
  /// When the machine's last events were.
  private var latest = LatestEvents()
  /// The time from which events are known, in microseconds since the machine started.
  private let begun: UInt64
  private var arrivals: [Arrival] = []
  private var hasEnded = false
  private let stagingTime: Duration
  private let sessionTime: Duration

  /// - Parameters:
  ///   - delegate: not owned.
  ///   - begun: the time at which this program began, in microseconds since the machine started. The program does not know earlier
  ///     locks.
  ///   - stagingTime: the time for which keys stay set aside while a locker does not go.
  ///   - sessionTime: the time for which keys stay without any session.
  public init(
    uid: UInt32, loop: EventLoop, delegate: any SessionWatchDelegate, begun: UInt64 = Process.microsecondsSinceBoot,
    systemBus: Bus.Address = .system, stagingTime: Duration = .seconds(30), sessionTime: Duration = .seconds(60)
  ) {
    machine = SessionMachine(uid: uid)
    self.loop = loop
    self.delegate = delegate
    self.begun = begun
    self.systemBus = systemBus
    self.stagingTime = stagingTime
    self.sessionTime = sessionTime
  }

  /// Begins to watch logind, and waits for logind.
  public func start() {
    let logind = LogindWatch(uid: machine.uid, loop: loop, address: systemBus) { [weak self] report in
      switch report {
      case .sessions(let facts): self?.learn(facts)
      case .absent: self?.handle(.logindAbsent)
      case .lockSignal(let session): self?.handle(.lockSignal(session: session))
      case .unlockSignal(let session): self?.handle(.unlockSignal(session: session))
      case .prepareForSleep(let starts): self?.handle(.prepareForSleep(starts))
      }
    }
    // A helper has the password in memory, and Argon2id's blocks.
    logind.finishBeforeSleep = { [weak self] ready in
      guard let delegate = self?.delegate else { return ready() }
      delegate.endDerivations(.all, gone: ready)
    }
    self.logind = logind
    logind.start()
  }

  /// Follows the screen savers on a connection to the session bus. It replaces any earlier connection, whose screen savers count as
  /// gone.
  public func hearScreenSavers(on sessionBus: Bus) throws(SystemdError) {
    for peer in machine.activeScreenSavers { handle(.screenSaverVanished(peer: peer)) }
    let savers = ScreenSaverWatch(bus: sessionBus) { [weak self] report in
      switch report {
      case .active(let peer, let active): self?.handle(.screenSaver(peer: peer, active: active))
      case .found(let peer): self?.handle(.screenSaverFound(peer: peer))
      case .vanished(let peer): self?.handle(.screenSaverVanished(peer: peer))
      }
    }
    try savers.start()
    screenSavers = savers
  }

  fileprivate static let ended = KeyOutcome.refused(.session(.daemonEnds))

  /// Accepts no keys any more: refuses and erases waiting keys. Events are followed as before.
  public func end() {
    hasEnded = true
    let refused = arrivals
    arrivals = []
    for arrival in refused { arrival.completion.take()?(SessionWatch.ended) }
  }

  /// Whether sleep waits until keys are erased.
  public var holdsSleepInhibitor: Bool { logind?.holdsSleepInhibitor ?? false }

  // MARK: Asked by the daemon

  /// The answer to a PAM stack, before any key is derived.
  public func decide(
    _ hello: Hello, from process: PeerProcess, needs: KeyNeeds
  ) -> AuthenticationPolicy.Decision {
    // Without a logind that reports sessions, the daemon knows no session of a process.
    let process = machine.logind == .absent ? PeerProcess.unknown : process
    return AuthenticationPolicy.decide(hello, from: process, machine: machine, needs: needs)
  }

  /// Begins an authentication that will bring keys. An event is later than its password if the watch heard of it later. A lock that
  /// is known only from logind's answer to this call has no time. It counts as older than a password that was given just now.
  /// `completion` is called exactly once.
  ///
  /// - Parameters:
  ///   - given: the time at which the password was given, in microseconds since the machine started. A moment in the future counts
  ///     as now, and nil means now.
  ///   - isOfFinger: whether a finger was given, at a locker that this program knew. A lock that is known only from logind's answer
  ///     is then another lock, and counts as later.
  public func claim(
    by process: PeerProcess, mayLift: Bool = true, given: UInt64? = nil, isOfFinger: Bool = false,
    completion: @escaping (Claim) -> Void
  ) {
    let now = Process.microsecondsSinceBoot
    var claim = Claim(process: process, machine: machine, mayLift: mayLift, given: min(given ?? now, now))
    if claim.given < now { claim.heed(latest, of: machine) }
    guard let logind else { return completion(claim) }
    let reports = reports
    logind.refresh { [self] answered in
      // logind's answer was reported right before this call.
      if answered, self.reports != reports, !isOfFinger, !claim.isLong(before: now) {
        claim.credit(locks: lastReport.locks, endings: lastReport.endings)
      }
      claim.meet(machine)
      claim.heedEnd(latest, of: machine)
      claim.meet(knownSince: begun)
      completion(claim)
    }
  }

  private func learn(_ facts: [SessionFacts]) {
    let before = machine
    handle(.sessions(facts))
    reports &+= 1
    lastReport = (machine.locks &- before.locks, machine.endings &- before.endings)
  }

  /// The right keys arrived. Asks logind for the state of the sessions, and then decides about the keys. `completion` is called
  /// exactly once. It must place the keys according to the outcome, and erase the rest, before it returns. Until then `completion`
  /// holds the keys, and they are erased with it.
  ///
  /// - Parameters:
  ///   - claim: of the authentication that brings the keys. A lock since then is later than the keys.
  ///   - preparation: begins at once, and calls its argument when the caller can take the keys.
  public func keysArrived(
    mayLift: Bool, by claim: Claim, after preparation: (@escaping () -> Void) -> Void = { $0() },
    completion: @escaping (KeyOutcome) -> Void
  ) {
    ask(for: claim, after: preparation, completion) { machine in
      machine.keysArrived(
        mayLift: mayLift, locksBefore: claim.locks, endingsBefore: claim.endings, session: claim.session)
    }
  }

  /// A finger at the locked screen has given all keys again. Otherwise this works like
  /// ``keysArrived(mayLift:by:after:completion:)``. The claim has the time of the touch, from which the wait for the locker is
  /// counted.
  public func fingerKeysArrived(
    by claim: Claim, after preparation: (@escaping () -> Void) -> Void = { $0() },
    completion: @escaping (KeyOutcome) -> Void
  ) {
    ask(for: claim, after: preparation, completion) { [weak self, stagingTime] machine in
      let age = Duration.microseconds(Int64(clamping: Process.microsecondsSinceBoot &- claim.given))
      guard let self, age < stagingTime else { return [.install(.refused(.session(.notNow)))] }
      return machine.fingerKeysArrived(
        locksBefore: claim.locks, endingsBefore: claim.endings, isLetIn: latest.isLetIn(since: claim.given), age: age)
    }
  }

  /// A finger for a prompt has given all keys again. Otherwise this works like ``keysArrived(mayLift:by:after:completion:)``.
  public func promptsFingerKeysArrived(
    by claim: Claim, after preparation: (@escaping () -> Void) -> Void = { $0() },
    completion: @escaping (KeyOutcome) -> Void
  ) {
    ask(for: claim, after: preparation, completion) { machine in
      machine.promptsFingerKeysArrived(locksBefore: claim.locks, endingsBefore: claim.endings)
    }
  }

  /// Tier key C arrived alone. Otherwise this works like ``keysArrived(mayLift:by:after:completion:)``.
  public func sessionKeyArrived(
    by claim: Claim, after preparation: (@escaping () -> Void) -> Void = { $0() },
    completion: @escaping (KeyOutcome) -> Void
  ) {
    ask(for: claim, after: preparation, completion) { machine in
      machine.sessionKeyArrived(locksBefore: claim.locks, endingsBefore: claim.endings, session: claim.session)
    }
  }

  /// Asks logind, then has the machine decide. Neither a lock nor the session's end waits for logind or for that decision.
  /// Otherwise tier key A would stay in memory, even while the computer sleeps.
  private func ask(
    for claim: Claim, after preparation: (@escaping () -> Void) -> Void, _ completion: @escaping (KeyOutcome) -> Void,
    _ decide: @escaping (inout SessionMachine) -> [SessionEffect]
  ) {
    guard !hasEnded else { return completion(SessionWatch.ended) }
    guard let logind else { return completion(.refused(.session(.notStarted))) }
    let arrival = Arrival(locks: machine.locks, claim, decide, completion)
    // Nothing delays the sleep any more. Keys of a session that has ended are refused and erased at once.
    guard !machine.isGoingToSleep, !machine.hasEnded(claim) else { return settle(arrival) }
    arrivals.append(arrival)
    preparation { [weak self, weak arrival] in
      arrival?.isPrepared = true
      self?.advance(arrival)
    }
    logind.refresh { [weak self, weak arrival] answered in
      arrival?.hasAnswered = answered
      self?.advance(arrival)
    }
  }

  private func advance(_ arrival: Arrival?) {
    guard let arrival, arrival.isPrepared, let hasAnswered = arrival.hasAnswered else { return }
    guard hasAnswered else {
      arrivals.removeAll { $0 === arrival }
      // Silence may hide a lock.
      arrival.completion.take()?(.refused(.session(.noLogind)))
      return
    }
    settle(arrival)
  }

  private func settle(_ arrival: Arrival) {
    arrivals.removeAll { $0 === arrival }
    guard let completion = arrival.completion.take() else { return }
    perform(arrival.decide(&machine), install: completion)
  }

  /// `latchkey lock`. The keys are erased when this returns.
  public func lock() { handle(.lockCommand) }

  /// Keys that were let in did not open the vault.
  public func keysFailed() { handle(.keysFailed) }

  /// There is no vault any more. The keys are erased when this returns.
  public func vaultPutAside() { handle(.vaultPutAside) }

  /// Notes that the login has no password and the vault was opened without one, or that the login has a password again.
  public func passwordless(_ isPasswordless: Bool) { handle(.passwordless(isPasswordless)) }

  /// A PAM stack opened a session of the user.
  ///
  /// - Parameter given: when, in microseconds since the machine started.
  public func pamSessionOpened(given: UInt64) {
    // A delayed helper may report a session's beginning after another helper reported its end. Such a session is not counted,
    // because nothing would report its end again. If the end belonged to another session, the keys may go too early, but never too
    // late.
    if latest.pamEnd.map({ $0 < given }) ?? true { handle(.pamSessionOpened) }
    logind?.refresh { _ in }
  }

  /// A PAM stack closed a session of the user.
  public func pamSessionClosed() {
    latest.pamEnd = Process.microsecondsSinceBoot
    handle(.pamSessionClosed)
    logind?.refresh { _ in }
  }

  // MARK: Effects

  private func handle(_ event: SessionEvent) {
    let before = machine
    let effects = machine.handle(event)
    latest.note(from: before, to: machine, at: Process.microsecondsSinceBoot)
    let firstOther = effects.firstIndex { !$0.erases } ?? effects.endIndex
    let noArrival: (KeyOutcome) -> Void = { _ in preconditionFailure("keys are installed only when some arrived") }
    // Keys go first: the end of grants and prompts can wait for the disk.
    perform(Array(effects[..<firstOther]), install: noArrival)
    // Grants and prompts end before anybody hears of the new state.
    if !effects.contains(where: \.endsUnlock), machine.locks != before.locks || machine.lockerUp && !before.lockerUp {
      delegate?.lockErasedNothing()
    }
    perform(Array(effects[firstOther...]), install: noArrival)
    let isUnwanted =
      switch event {
      case .hibernate, .lockCommand: true
      default: machine.endings != before.endings
      }
    if isUnwanted {
      delegate?.endDerivations(.all) {}
    } else if !before.sessionNumbers.isSubset(of: machine.sessionNumbers) {
      delegate?.endDerivations(.claimed { [machine] in machine.hasEnded($0) }) {}
    }
    for arrival in arrivals where arrival.locks != machine.locks || machine.hasEnded(arrival.claim) {
      settle(arrival)
    }
  }

  private func perform(_ effects: [SessionEffect], install: (KeyOutcome) -> Void) {
    for effect in effects {
      switch effect {
      case .lock(let reason): delegate?.eraseUnlockedKeys(reason)
      case .seal(let reason): delegate?.eraseAllKeys(reason)
      case .dropStaged: delegate?.eraseStagedKeys()
      case .install(let outcome): install(outcome)
      case .goLive: delegate?.stagedKeysGoLive()
      case .startStagingTimer(let age): stagingTimer = timer(stagingTime - age, .stagingTimerFired)
      case .cancelStagingTimer: stagingTimer = nil
      case .startSessionTimer: sessionTimer = timer(sessionTime, .sessionTimerFired)
      case .cancelSessionTimer: sessionTimer = nil
      // Keys that did not open the vault when they were installed have sealed it again.
      case .firstUnlock: if machine.state != .sealed { delegate?.firstUnlockHappened() }
      case .stateChanged: delegate?.sessionStateChanged()
      }
    }
  }

  /// If no timer can be made, the time limit counts as over at once.
  private func timer(_ time: Duration, _ event: SessionEvent) -> EventSource? {
    do {
      return try loop.addTimer(after: time) { [weak self] in self?.handle(event) }
    } catch {
      handle(event)
      return nil
    }
  }
}
