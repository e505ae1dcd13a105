import LatchkeyReasons

/// The state of one user's vault: which keys may be in memory now. A value without any input or output; events go
/// in, effects come out.
///
/// "Locked" is believed from any source. "Unlocked" opens nothing by itself: it only makes keys live that a password brought
/// before.
public struct SessionMachine: Sendable {
  /// Which keys may be in memory.
  public enum State: Equatable, Sendable {
    /// No keys since the start, or since the last session ended.
    case sealed
    /// A and C are live.
    case unlocked
    /// C is live, A was erased.
    case locked(LockReason)
  }

  /// Whether logind can be asked.
  public enum Logind: Equatable, Sendable {
    case unknown
    case absent
    case present
  }

  /// The vault's user.
  public let uid: UInt32

  /// Which keys may be in memory now.
  public private(set) var state = State.sealed

  /// Whether the login has no password: the vault then counts as always unlocked, in every state of sessions and lockers. The
  /// machine still follows both, because prompts still wait behind a locker.
  public private(set) var isPasswordless = false

  /// Why the vault was sealed last.
  public private(set) var sealReason = SealReason.started

  /// The number of locks so far, by request or by a locker, and the reason of the last lock. Keys of an earlier password do not
  /// lift a lock.
  public internal(set) var locks: UInt64 = 0
  private var lastLock = LockReason.command

  /// The number of times that the user's last session ended, or that no session came in time. Keys of an earlier password open
  /// nothing.
  public internal(set) var endings: UInt64 = 0

  /// Whether A was set aside, to go live with the locker.
  public private(set) var hasStagedKeys = false
  /// Whether a finger brought that A, and no password.
  private(set) var isStagedByFinger = false

  /// The number of times that the locker at this machine let the person in. Keys that had been set aside became live then.
  private(set) var admissions: UInt64 = 0
  /// The number of times that keys that had been set aside were erased, or would have been.
  private(set) var rejections: UInt64 = 0

  /// Whether C came by a login without a password, and nobody has given a password since.
  public private(set) var isOpenedWithoutPassword = false

  /// The source of the sessions.
  public private(set) var logind = Logind.unknown

  /// Sessions that PAM opened and did not close. Only used without logind.
  public private(set) var pamSessions = 0

  /// The user's sessions that count.
  private(set) var sessions: [String: TrackedSession] = [:]

  /// The number of sessions so far. It tells sessions apart, because logind may use a name again.
  private var sessionCount = noSession

  /// The number that stands for no session. The first session has the next number.
  static let noSession: UInt64 = 0

  /// The unique names of the screen savers that are active.
  private var screenSavers: Set<String> = []

  /// The active savers, to find savers that can no longer be heard.
  var activeScreenSavers: Set<String> { screenSavers }

  /// Whether the machine is about to sleep, or asleep.
  public private(set) var isGoingToSleep = false

  /// Whether there are keys but no session, so that the session timer runs.
  private(set) var awaitsSession = false

  /// A sealed machine that knows nothing yet.
  public init(uid: UInt32) { self.uid = uid }

  // MARK: Facts

  /// Whether a locker is up. Only a locker holds prompts back, and not a lock alone.
  public var lockerUp: Bool { !screenSavers.isEmpty || sessionsAreBehindLocker }

  /// The user's session that a process is in, by a unique number; nil if the process is in no session that counts.
  func number(of process: PeerProcess) -> UInt64? {
    guard case .session(let id, uid, _, _, _) = process else { return nil }
    return sessions[id]?.number
  }

  /// The numbers of the sessions that count.
  var sessionNumbers: Set<UInt64> { Set(sessions.values.map(\.number)) }

  /// Whether keys on their way are worthless, because the session of their password, or the last session, has ended.
  func hasEnded(_ claim: Claim) -> Bool { hasEnded(since: claim.endings, in: claim.session) }

  /// The reason why keys of an authentication would open nothing if they came now; nil if they may open the vault.
  public func refusal(of claim: Claim) -> Reason? { refusal(since: claim.endings, in: claim.session) }

  /// Whether tier key A is in memory, or waits for the locker to go: then the daemon's end would lock the vault.
  public var hasUnlockedKeys: Bool { state == .unlocked || hasStagedKeys }

  /// Whether this daemon may end, so that an authentication brings its keys to a new daemon. The new daemon does not know earlier
  /// events, so no lock and no end of a session may be later than the password.
  public func mayBeReplaced(for claim: Claim) -> Bool {
    !hasUnlockedKeys && refusal(of: claim) == nil && claim.locks == locks
  }

  /// Graphical sessions count. Without graphical sessions, all sessions count.
  var relevant: [TrackedSession] {
    let graphical = sessions.values.filter { $0.facts.isGraphical }
    return graphical.isEmpty ? Array(sessions.values) : graphical
  }

  private var sessionsAreBehindLocker: Bool { holdsForRelevant(\.isBehindLocker) }

  var sessionsAreLocked: Bool { holdsForRelevant(\.isLocked) }

  /// If there are several desktops, all must be locked, because the keys belong to the user and not to a desktop. One terminal is
  /// enough, because nothing tells at which terminal the user sits.
  func holdsForRelevant(_ fact: (TrackedSession) -> Bool) -> Bool {
    let relevant = relevant
    guard let first = relevant.first else { return false }
    return first.facts.isGraphical ? relevant.allSatisfy(fact) : relevant.contains(where: fact)
  }

  /// The locked sessions at this machine, whose person can touch the reader. A screen saver counts for all desktops, because
  /// nothing shows to which one it belongs.
  private var lockedHere: [String] {
    relevant.filter { $0.isHere && ($0.isBehindLocker || !screenSavers.isEmpty) }.map(\.facts.id)
  }

  var isLockerHere: Bool { !lockedHere.isEmpty }

  private var lockerReason: LockReason { screenSavers.isEmpty ? sessionLockerReason : .screenSaver }

  private var sessionLockerReason: LockReason {
    relevant.contains { $0.facts.lockedHint } ? .lockedHint : .greeter
  }

  // MARK: Keys

  /// The right keys arrived. `mayLift`: whether their sender may lift a lock; see `AuthenticationPolicy`. Ask logind for the state
  /// of the sessions first, because its signals may come later than the keys. `locksBefore` and `endingsBefore` are the values of
  /// ``locks`` and ``endings`` when the authentication began, and `session` is its session.
  public mutating func keysArrived(
    mayLift: Bool, locksBefore: UInt64? = nil, endingsBefore: UInt64? = nil, session: UInt64? = nil
  ) -> [SessionEffect] {
    var effects: [SessionEffect] = []
    let wasLockedMeanwhile = locksBefore.map { $0 != locks } ?? false
    if let reason = refusal(since: endingsBefore, in: session) { return [.install(.refused(reason))] }
    switch state {
    case .unlocked:
      return [.install(.notNeeded)]
    case .sealed:
      if wasLockedMeanwhile {
        state = .locked(lastLock)
        effects.append(.install(.firstUnlockOnly))
      } else if !lockerUp {
        becomeUnlocked(&effects, with: .install(.live))
      } else if mayLift {
        stage(&effects)
      } else {
        state = .locked(lockerReason)
        effects.append(.install(.firstUnlockOnly))
      }
      effects.append(.firstUnlock)
      awaitSession(&effects)
    case .locked(.withoutPassword) where !lockerUp && !wasLockedMeanwhile:
      // There is no lock to lift, so any login that may unseal the vault also unlocks it.
      becomeUnlocked(&effects, with: .install(.live))
    case .locked:
      if !mayLift { return [.install(.refused(.session(.liftsNoLock)))] }
      if wasLockedMeanwhile { return [.install(.refused(.session(.lockedMeanwhile)))] }
      if lockerUp { stage(&effects) } else { becomeUnlocked(&effects, with: .install(.live)) }
    }
    effects.append(.stateChanged)
    return effects
  }

  /// Tier key C arrived alone, from a login in which nobody gave a password. It opens a sealed vault, and changes nothing in any
  /// other state. Otherwise this works like ``keysArrived(mayLift:locksBefore:endingsBefore:session:)``.
  public mutating func sessionKeyArrived(
    locksBefore: UInt64? = nil, endingsBefore: UInt64? = nil, session: UInt64? = nil
  ) -> [SessionEffect] {
    if let reason = refusal(since: endingsBefore, in: session) { return [.install(.refused(reason))] }
    guard state == .sealed else { return [.install(.notNeeded)] }
    let wasLockedMeanwhile = locksBefore.map { $0 != locks } ?? false
    state = .locked(wasLockedMeanwhile ? lastLock : lockerUp ? lockerReason : .withoutPassword)
    isOpenedWithoutPassword = true
    var effects: [SessionEffect] = [.install(.firstUnlockOnly), .firstUnlock]
    awaitSession(&effects)
    return effects + [.stateChanged]
  }

  func refusal(since endingsBefore: UInt64?, in session: UInt64?) -> Reason? {
    if hasEnded(since: endingsBefore, in: session) { return .session(.sessionEnded) }
    // Keys that come now would stay in memory during sleep.
    return isGoingToSleep ? .session(.goingToSleep) : nil
  }

  private func hasEnded(since endingsBefore: UInt64?, in session: UInt64?) -> Bool {
    if let endingsBefore, endingsBefore != endings { return true }
    return session.map { !sessionNumbers.contains($0) } ?? false
  }

  mutating func stage(_ effects: inout [SessionEffect], isOfFinger: Bool = false, age: Duration = .zero) {
    if case .sealed = state { state = .locked(lockerReason) }
    (hasStagedKeys, isStagedByFinger) = (true, isOfFinger)
    effects += [.install(.staged), .startStagingTimer(age: age)]
  }

  mutating func becomeUnlocked(_ effects: inout [SessionEffect], with effect: SessionEffect) {
    state = .unlocked
    isOpenedWithoutPassword = false
    // The password answers the earlier request to lock.
    for id in sessions.keys { sessions[id]?.wasAskedToLock = false }
    effects.append(effect)
  }

  // MARK: Events

  /// Processes an event, and returns its effects.
  public mutating func handle(_ event: SessionEvent) -> [SessionEffect] {
    let before = (state, lockerUp, hasStagedKeys, logind, isPasswordless)
    let (wasLockerHere, rejectionsBefore) = (isLockerHere, rejections)
    var effects: [SessionEffect] = []
    switch event {
    case .sessions(let facts): update(facts, &effects)
    case .logindAbsent: becomeAbsent(&effects)
    case .lockSignal(let session): lockSignal(session, &effects)
    case .unlockSignal(let session): sessions[session]?.wasAskedToLock = false
    case .prepareForSleep(let starts):
      isGoingToSleep = starts
      if starts { lock(.sleep, &effects) }
    case .hibernate: seal(.hibernation, &effects)
    case .screenSaver(let peer, active: true):
      // A saver that repeats its report is not a new lock, so staged keys stay.
      if screenSavers.insert(peer).inserted { lock(.screenSaver, &effects) }
    case .screenSaverFound(let peer):
      if screenSavers.insert(peer).inserted { lockLiveKeys(.screenSaver, &effects) }
    case .screenSaver(let peer, active: false):
      screenSavers.remove(peer)
      releaseStaged(&effects)
    case .screenSaverVanished(let peer):
      // A locker that crashed did not let the person in.
      if screenSavers.remove(peer) != nil, !lockerUp { dropStaged(&effects) }
    case .keysFailed: seal(.keysFailed, &effects)
    case .vaultPutAside:
      sealReason = .putAside
      seal(.putAside, &effects)
    case .passwordless(true): becomePasswordless(&effects)
    case .passwordless(false): becomeProtected(&effects)
    case .lockCommand: lock(.command, &effects)
    case .pamSessionOpened: pamSessions += 1
    case .pamSessionClosed:
      guard pamSessions > 0 else { break }
      pamSessions -= 1
      guard logind == .absent, pamSessions == 0 else { break }
      endings &+= 1
      seal(.sessionsEnded, &effects)
    case .stagingTimerFired: dropStaged(&effects)
    case .sessionTimerFired:
      guard awaitsSession, sessions.isEmpty else { break }
      endings &+= 1
      seal(.noSession, &effects)
    }
    if wasLockerHere, !isLockerHere, !lockerUp, rejections == rejectionsBefore { noteAdmission(by: event) }
    if before != (state, lockerUp, hasStagedKeys, logind, isPasswordless) { effects.append(.stateChanged) }
    return effects
  }

  /// Only a locker says that it let the person in.
  private mutating func noteAdmission(by event: SessionEvent) {
    switch event {
    case .sessions, .screenSaver: admissions &+= 1
    default: break
    }
  }

  private mutating func becomePasswordless(_ effects: inout [SessionEffect]) {
    isPasswordless = true
    dropStaged(&effects)
    sessionIsNotAwaited(&effects)
    let wasSealed = state == .sealed
    state = .unlocked
    isOpenedWithoutPassword = false
    if wasSealed { effects.append(.firstUnlock) }
  }

  /// From now on locks count again, also earlier ones. If one still holds, the keys behind it are erased.
  private mutating func becomeProtected(_ effects: inout [SessionEffect]) {
    guard isPasswordless else { return }
    isPasswordless = false
    if isGoingToSleep {
      lockKeys(.sleep, &effects)
    } else if lockerUp {
      lockKeys(lockerReason, &effects)
    } else if sessionsAreLocked {
      lockKeys(.lockSignal, &effects)
    }
    awaitSession(&effects)
  }

  private mutating func becomeAbsent(_ effects: inout [SessionEffect]) {
    logind = .absent
    sessions = [:]
    sessionIsNotAwaited(&effects)
  }

  /// There are keys, so if there is no session, one has to come soon.
  private mutating func awaitSession(_ effects: inout [SessionEffect]) {
    guard logind == .present, sessions.isEmpty else { return }
    awaitsSession = true
    effects.append(.startSessionTimer)
  }

  private mutating func sessionIsNotAwaited(_ effects: inout [SessionEffect]) {
    guard awaitsSession else { return }
    awaitsSession = false
    effects.append(.cancelSessionTimer)
  }

  private mutating func lockSignal(_ id: String, _ effects: inout [SessionEffect]) {
    guard sessions[id] != nil else {
      // The session belongs to another user, or logind has not described it yet. The watch passes on only sessions that may belong
      // to the user.
      return lock(.lockSignal, &effects)
    }
    sessions[id]?.wasAskedToLock = true
    guard relevant.contains(where: { $0.facts.id == id }), sessionsAreLocked else { return }
    lock(.lockSignal, &effects)
  }

  /// Compares all sessions with the known ones, and acts on the difference.
  private mutating func update(_ facts: [SessionFacts], _ effects: inout [SessionEffect]) {
    let old = sessions
    let lockedHereBefore = lockedHere
    let hadGraphical = hasGraphicalSession
    let hadUnlockedGraphical = old.values.contains { $0.facts.isGraphical && !$0.isLocked }
    let wasKnown = logind == .present
    let seatsOfGreeters = Set(facts.filter { $0.isGreeter && $0.isActive && !$0.seat.isEmpty }.map(\.seat))
    var newLocker = false
    logind = .present
    sessions = [:]
    for fact in facts where fact.uid == uid && fact.isLogin {
      let isBehindGreeter = fact.isGraphical && !fact.isActive && seatsOfGreeters.contains(fact.seat)
      // A session that exists when logind first answers may have been in front before.
      if old[fact.id] == nil { sessionCount &+= 1 }
      var tracked = old[fact.id] ?? TrackedSession(number: sessionCount, facts: fact, isStarting: wasKnown)
      if tracked.facts.lockedHint, !fact.lockedHint { tracked.wasAskedToLock = false }
      if fact.lockedHint, !(old[fact.id]?.facts.lockedHint ?? false) { newLocker = true }
      tracked.facts = fact
      if !isBehindGreeter { tracked.isStarting = false }
      if fact.isActive {
        tracked.isShielded = false
      } else if isBehindGreeter, !tracked.isStarting {
        if !tracked.isShielded { newLocker = true }
        tracked.isShielded = true
      }
      sessions[fact.id] = tracked
    }
    if sessions.isEmpty {
      sessionsVanished(wereKnown: wasKnown && !old.isEmpty, &effects)
      return
    }
    sessionIsNotAwaited(&effects)
    // Reached when the last unlocked desktop locks, ends, or falls behind a greeter.
    let ended = old.values.contains { $0.facts.isGraphical && !$0.isLocked && sessions[$0.facts.id] == nil }
    if hadUnlockedGraphical, !hasGraphicalSession || (ended && sessionsAreLocked) {
      lock(.sessionEnded, &effects)
    } else if sessionsAreLocked {
      lockLiveKeys(sessionsAreBehindLocker ? sessionLockerReason : .lockSignal, &effects)
    }
    if newLocker {
      // A locker that was up before the first report of sessions is older than keys on their way.
      if wasKnown { noteLock(sessionLockerReason) }
      dropStaged(&effects)
    }
    // A screen that exists and is unlocked makes staged keys live. A screen that ended did not let the person in.
    let lockedEnded = old.values.contains { $0.isBehindLocker && sessions[$0.facts.id] == nil }
    // Another screen cannot let in the person who touched the reader here.
    if lockedHereBefore.contains(where: isLost) { rejectFinger(&effects) }
    if hasGraphicalSession || !(hadGraphical || lockedEnded) {
      releaseStaged(&effects)
    } else if !lockerUp {
      dropStaged(&effects)
    }
  }

  private mutating func sessionsVanished(wereKnown: Bool, _ effects: inout [SessionEffect]) {
    if wereKnown { endings &+= 1 }
    guard state != .sealed, !awaitsSession, !isPasswordless else { return }
    if wereKnown { return seal(.sessionsEnded, &effects) }
    // logind appeared, and knows no session. This is like a login that has no session yet.
    awaitSession(&effects)
  }

  /// Notes a lock. It counts for keys on their way, even if it has ended when they come.
  private mutating func lock(_ reason: LockReason, _ effects: inout [SessionEffect]) {
    noteLock(reason)
    lockKeys(reason, &effects)
  }

  private mutating func noteLock(_ reason: LockReason) {
    locks &+= 1
    lastLock = reason
  }

  /// Erases A and the keys that were set aside.
  private mutating func lockKeys(_ reason: LockReason, _ effects: inout [SessionEffect]) {
    lockLiveKeys(reason, &effects)
    dropStaged(&effects)
  }

  private mutating func lockLiveKeys(_ reason: LockReason, _ effects: inout [SessionEffect]) {
    guard state == .unlocked || state == .locked(.withoutPassword), !isPasswordless else { return }
    // This counts as a lock even if no A is there to erase. So some logins do not lift it.
    state = .locked(reason)
    effects.insert(.lock(reason), at: 0)
  }

  private mutating func seal(_ reason: SealReason, _ effects: inout [SessionEffect]) {
    // Keys that did not unlock the vault must not count as an unlock. A missing vault must not count either.
    if reason == .keysFailed || reason == .putAside { isPasswordless = false }
    guard state != .sealed, !isPasswordless else { return }
    state = .sealed
    isOpenedWithoutPassword = false
    sealReason = reason
    effects.insert(.seal(reason), at: 0)
    dropStaged(&effects)
    sessionIsNotAwaited(&effects)
  }

  /// Whether a session that had a locker up has ended, or is locked and no longer decides about the vault.
  private func isLost(_ id: String) -> Bool {
    guard let session = sessions[id] else { return true }
    return session.isBehindLocker && !relevant.contains { $0.facts.id == id }
  }

  /// The keys of a finger go, and the keys of a password stay.
  private mutating func rejectFinger(_ effects: inout [SessionEffect]) {
    if hasStagedKeys, !isStagedByFinger { rejections &+= 1 } else { dropStaged(&effects) }
  }

  private mutating func dropStaged(_ effects: inout [SessionEffect]) {
    rejections &+= 1
    guard hasStagedKeys else { return }
    hasStagedKeys = false
    let place = effects.firstIndex { !$0.erases } ?? effects.endIndex
    effects.insert(.dropStaged, at: place)
    effects.append(.cancelStagingTimer)
  }

  /// Makes staged keys live, if the locker has gone.
  private mutating func releaseStaged(_ effects: inout [SessionEffect]) {
    guard hasStagedKeys, !lockerUp, !(isStagedByFinger && isLockerHere) else { return }
    hasStagedKeys = false
    becomeUnlocked(&effects, with: .goLive)
    effects.append(.cancelStagingTimer)
  }
}
