@testable import LatchkeySessionState

/// The events of the small world that the exploration walks through.
enum Step: Hashable, Sendable {
  /// A session starts, ends, or says whether its screen is locked.
  case session(Int, Situation.Screen)
  /// Another screen comes to the foreground of the seat.
  case front(Situation.Front)
  /// logind repeats its earlier report.
  case sessionsToldAgain
  case logindAbsent
  case lockSignal(String)
  case unlockSignal(String)
  case sleep(Bool)
  case hibernate
  case screenSaver(Int, active: Bool)
  case screenSaverFound(Int)
  case screenSaverVanished(Int)
  case lockCommand
  case keysFailed
  case vaultPutAside
  case passwordless(Bool)
  case pamSessionOpened
  case pamSessionClosed
  case stagingTimer
  case sessionTimer
  /// A PAM stack has the password, and the keys are on their way. The stack may run in one of the user's sessions.
  case keysSetOut(mayLift: Bool, from: Int? = nil)
  /// A login without a password: tier key C is on its way.
  case sessionKeySetsOut
  case keysArrive

  /// Whether any program on the session bus can cause the step, without a password and without a right to lock.
  var isOfSessionBus: Bool {
    switch self {
    case .screenSaver, .screenSaverFound, .screenSaverVanished: true
    default: false
    }
  }
}

/// One machine, the true state of the world around it, and the keys of a daemon that did everything that the machine said.
struct Situation {
  /// A session, as its screen shows it.
  enum Screen: Int, CaseIterable, Sendable { case absent, open, locked }

  /// The screen in the foreground of the seat.
  enum Front: Hashable, Sendable {
    case session(Int)
    case greeter
    case nobody
  }

  /// Keys that are on their way.
  struct InFlight: Equatable {
    /// Nil means tier key C alone.
    var mayLift: Bool?
    /// The session in which the password was given.
    var session: Int?
    /// The machine's number for the session.
    var number: UInt64?
    /// Whether a lock came after the keys set out.
    var isOvertaken = false
    /// Whether the session of the keys, or the last session, has ended meanwhile.
    var hasEnded = false
  }

  /// The keys in the daemon's memory.
  struct Keys: Equatable {
    var a = false
    var c = false
    var staged = false
  }

  let universe: Universe
  /// The fault of the daemon, which shows that the invariants detect faults.
  let fault: Fault?
  var machine: SessionMachine
  var keys = Keys()
  var inFlight: InFlight?
  var stagingTimer = false
  var sessionTimer = false

  // The world. Sessions are numbered from 1: desktops first, then terminals.
  var screens: [Screen]
  var front = Front.nobody
  /// Desktops that a greeter pushed from the foreground.
  var behindGreeter: Set<Int> = []
  var screenSavers: Set<Int> = []
  var isGoingToSleep = false
  var isPasswordless = false
  var logindWasHeard = false

  init(_ universe: Universe, fault: Fault? = nil) {
    (self.universe, self.fault) = (universe, fault)
    machine = SessionMachine(uid: Self.uid)
    screens = Array(repeating: .absent, count: universe.desktops + universe.terminals)
  }

  private static let uid: UInt32 = 1000

  // MARK: What the world says

  var present: [Int] { (1...screens.count).filter { screens[$0 - 1] != .absent } }

  var desktops: [Int] { present.filter { $0 <= universe.desktops } }

  private func isBehindLocker(_ session: Int) -> Bool {
    screens[session - 1] == .locked || behindGreeter.contains(session)
  }

  /// Whether the sessions say that the user's screen is locked. A machine that never heard from logind cannot know.
  private var sessionsAreLocked: Bool {
    guard logindWasHeard else { return false }
    if desktops.isEmpty { return present.contains { isBehindLocker($0) } }
    return desktops.allSatisfy { isBehindLocker($0) }
  }

  /// Whether any source says at this moment that the screen is locked.
  var isLocked: Bool { !screenSavers.isEmpty || isGoingToSleep || sessionsAreLocked }

  /// logind's report of the sessions.
  var facts: [SessionFacts] {
    var facts = present.map { session in
      let isDesktop = session <= universe.desktops
      return SessionFacts(
        id: "\(session)", uid: Self.uid, type: isDesktop ? "x11" : "tty",
        isActive: !isDesktop || front == .session(session), lockedHint: screens[session - 1] == .locked,
        seat: isDesktop ? "seat0" : "")
    }
    if universe.hasGreeter {
      facts.append(
        SessionFacts(
          id: "c1", uid: 115, sessionClass: "greeter", type: "x11", isActive: front == .greeter, seat: "seat0"))
    }
    return facts
  }

  // MARK: What can happen

  /// Steps that change something, or that the real sources repeat.
  var steps: [Step] {
    var steps: [Step] = universe.steps
    if universe.hasLogind { addSessions(&steps) } else { addLoginsOfPAM(&steps) }
    for saver in 0..<universe.screenSavers {
      steps += [.screenSaver(saver, active: true), .screenSaver(saver, active: false), .screenSaverFound(saver)]
      if screenSavers.contains(saver) { steps.append(.screenSaverVanished(saver)) }
    }
    if stagingTimer { steps.append(.stagingTimer) }
    if sessionTimer { steps.append(.sessionTimer) }
    if inFlight == nil {
      steps += [.keysSetOut(mayLift: true), .keysSetOut(mayLift: false)]
      if !universe.isLarge {
        steps.append(.sessionKeySetsOut)
        steps += present.filter { machine.sessions["\($0)"] != nil }.map { .keysSetOut(mayLift: true, from: $0) }
      }
    } else {
      steps.append(.keysArrive)
    }
    return steps
  }

  private func addSessions(_ steps: inout [Step]) {
    steps.append(.sessionsToldAgain)
    for session in 1...screens.count {
      // If there are desktops, a terminal's locker does not count.
      let screensOfIt = session > universe.desktops && universe.desktops > 0 ? [.absent, .open] : Screen.allCases
      for screen in screensOfIt where screen != screens[session - 1] { steps.append(.session(session, screen)) }
      steps += [.lockSignal("\(session)"), .unlockSignal("\(session)")]
    }
    guard universe.hasGreeter else { return }
    let fronts = desktops.map { Front.session($0) } + [.greeter, .nobody]
    steps += fronts.filter { $0 != front }.map { .front($0) }
  }

  private func addLoginsOfPAM(_ steps: inout [Step]) {
    steps += [.logindAbsent, .pamSessionClosed]
    if machine.pamSessions < 2 { steps.append(.pamSessionOpened) }
  }

  // MARK: What follows

  mutating func take(_ step: Step) -> Transition {
    let before = self
    var effects = handle(step)
    if let fault { effects = fault.alter(effects, of: step) }
    for effect in effects { perform(effect) }
    let wasLocked = locks(step, before)
    if wasLocked { inFlight?.isOvertaken = true }
    if ends(step, before) { inFlight?.hasEnded = true }
    // Only one fact about keys matters: whether they are as new as the last lock and the last end of a session. The numbers
    // themselves would make the situations endless.
    if before.machine.locks != machine.locks { inFlightIsStale = true }
    if before.machine.endings != machine.endings { inFlightIsOrphaned = true }
    (machine.locks, machine.endings) = (0, 0)
    // Keys that no longer open anything are equal, however many locks they missed.
    if inFlightIsOrphaned || sessionIsGone, inFlight?.hasEnded ?? false {
      inFlight?.isOvertaken = false
      inFlightIsStale = false
      if sessionIsGone { inFlightIsOrphaned = false }
    }
    if inFlight == nil { (inFlightIsStale, inFlightIsOrphaned) = (false, false) }
    return Transition(step: step, before: before, after: self, effects: effects, locks: wasLocked)
  }

  /// Whether the keys are stale to the machine. `InFlight.isOvertaken` says whether they are stale in the world.
  private(set) var inFlightIsStale = false
  /// The value of `InFlight.hasEnded` after the last session.
  private(set) var inFlightIsOrphaned = false

  /// Whether the session in which the keys were given is gone.
  private var sessionIsGone: Bool {
    inFlight?.number.map { !machine.sessionNumbers.contains($0) } ?? false
  }

  private mutating func handle(_ step: Step) -> [SessionEffect] {
    switch step {
    case .session(let session, let screen):
      screens[session - 1] = screen
      if screen == .absent {
        behindGreeter.remove(session)
        if front == .session(session) { front = .nobody }
      }
      return tellSessions()
    case .front(let new):
      if new == .greeter { behindGreeter.formUnion(desktops) }
      if case .session(let session) = new { behindGreeter.remove(session) }
      front = new
      return tellSessions()
    case .sessionsToldAgain: return tellSessions()
    case .logindAbsent: return machine.handle(.logindAbsent)
    case .lockSignal(let session): return machine.handle(.lockSignal(session: session))
    case .unlockSignal(let session): return machine.handle(.unlockSignal(session: session))
    case .sleep(let starts):
      isGoingToSleep = starts
      return machine.handle(.prepareForSleep(starts))
    case .hibernate: return machine.handle(.hibernate)
    case .screenSaver(let saver, let isActive):
      if isActive { screenSavers.insert(saver) } else { screenSavers.remove(saver) }
      return machine.handle(.screenSaver(peer: ":1.\(saver)", active: isActive))
    case .screenSaverFound(let saver):
      screenSavers.insert(saver)
      return machine.handle(.screenSaverFound(peer: ":1.\(saver)"))
    case .screenSaverVanished(let saver):
      screenSavers.remove(saver)
      return machine.handle(.screenSaverVanished(peer: ":1.\(saver)"))
    case .lockCommand: return machine.handle(.lockCommand)
    case .keysFailed:
      // The daemon erases the keys before it reports.
      (keys, isPasswordless) = (Keys(), false)
      return machine.handle(.keysFailed)
    case .vaultPutAside:
      isPasswordless = false
      return machine.handle(.vaultPutAside)
    case .passwordless(let isPasswordless):
      // The daemon opens the vault by the device key before it reports.
      if isPasswordless { (keys.a, keys.c) = (true, true) }
      self.isPasswordless = isPasswordless
      return machine.handle(.passwordless(isPasswordless))
    case .pamSessionOpened: return machine.handle(.pamSessionOpened)
    case .pamSessionClosed: return machine.handle(.pamSessionClosed)
    case .stagingTimer:
      stagingTimer = false
      return machine.handle(.stagingTimerFired)
    case .sessionTimer:
      sessionTimer = false
      return machine.handle(.sessionTimerFired)
    case .keysSetOut(let mayLift, let session):
      let process = session.map {
        PeerProcess.session(id: "\($0)", uid: Self.uid, sessionClass: "user", type: "tty", isRemote: false)
      }
      let claim = Claim(process: process ?? .unknown, machine: machine, mayLift: mayLift)
      setOut(InFlight(mayLift: mayLift, session: session, number: claim.session))
      return []
    case .sessionKeySetsOut:
      setOut(InFlight(mayLift: nil))
      return []
    case .keysArrive: return arrive()
    }
  }

  private mutating func tellSessions() -> [SessionEffect] {
    logindWasHeard = true
    return machine.handle(.sessions(facts))
  }

  private mutating func setOut(_ keys: InFlight) {
    (inFlight, inFlightIsStale, inFlightIsOrphaned) = (keys, false, false)
  }

  /// Keys count by a claim from the moment they set out. The claim is made only here, so it is corrected for later locks and ends
  /// of sessions.
  private mutating func arrive() -> [SessionEffect] {
    guard let arrived = inFlight else { return [] }
    inFlight = nil
    var claim = Claim(process: .unknown, machine: machine, mayLift: arrived.mayLift ?? false)
    claim.credit(
      locks: inFlightIsStale && fault != .locksAreNotCounted ? 1 : 0,
      endings: inFlightIsOrphaned && fault != .endingsAreNotCounted ? 1 : 0)
    guard arrived.mayLift != nil else {
      return machine.sessionKeyArrived(locksBefore: claim.locks, endingsBefore: claim.endings)
    }
    return machine.keysArrived(
      mayLift: claim.mayLift, locksBefore: claim.locks, endingsBefore: claim.endings,
      session: fault == .sessionsAreNotTold ? nil : arrived.number)
  }

  /// The daemon's side of an effect.
  private mutating func perform(_ effect: SessionEffect) {
    switch effect {
    case .lock: keys.a = false
    case .seal: keys = Keys()
    case .dropStaged: keys.staged = false
    case .install(.live): (keys.a, keys.c) = (true, true)
    case .install(.staged): (keys.c, keys.staged) = (true, true)
    case .install(.firstUnlockOnly): keys.c = true
    case .install(.notNeeded), .install(.refused): break
    case .goLive:
      // Only keys that the daemon set aside become live.
      if keys.staged { keys.a = true }
      keys.staged = false
    case .startStagingTimer: stagingTimer = true
    case .cancelStagingTimer: stagingTimer = false
    case .startSessionTimer: sessionTimer = true
    case .cancelSessionTimer: sessionTimer = false
    case .firstUnlock, .stateChanged: break
    }
  }

  /// Whether a step is a new lock, which makes all earlier keys worthless.
  private func locks(_ step: Step, _ before: Situation) -> Bool {
    switch step {
    case .sleep(let starts): return starts
    case .lockCommand: return true
    case .screenSaver(let saver, active: true): return !before.screenSavers.contains(saver)
    case .lockSignal(let id):
      guard let session = Int(id), present.contains(session), logindWasHeard else { return true }
      if desktops.isEmpty { return true }
      let isOpen = { (session: Int) in
        !isBehindLocker(session) && machine.sessions["\(session)"]?.wasAskedToLock != true
      }
      return desktops.contains(session) && !desktops.contains(where: isOpen)
    case .session(let session, .locked):
      return before.logindWasHeard && sessionsAreLocked && (desktops.isEmpty || desktops.contains(session))
    case .session(let session, .absent):
      // The last unlocked desktop ended.
      return before.logindWasHeard && before.desktops.contains(session) && !before.isBehindLocker(session)
        && before.machine.sessions["\(session)"]?.wasAskedToLock != true
        && (desktops.isEmpty ? !present.isEmpty : sessionsAreLocked)
    case .front(.greeter):
      return before.logindWasHeard && sessionsAreLocked && !desktops.isEmpty && before.behindGreeter != behindGreeter
    default: return false
    }
  }

  /// Whether a step ends the user's last session, or the session in which the keys on their way were given. Those keys then open
  /// nothing.
  private func ends(_ step: Step, _ before: Situation) -> Bool {
    switch step {
    case .session(let session, .absent) where session == before.inFlight?.session: true
    // The machine does not notice the end of a session that it never knew.
    case .session(_, .absent): before.machine.knownSessions?.isEmpty == false && present.isEmpty
    case .pamSessionClosed: before.machine.logind == .absent && before.machine.pamSessions == 1
    default: false
    }
  }

  // MARK: Which situations are the same

  /// Two situations with the same fingerprint behave alike. The reason of a lock is not a part of the fingerprint, except at a
  /// login without a password, where the reason matters.
  var fingerprint: UInt64 {
    var bits = Bits()
    bits.add(machine.logind == .present ? 2 : machine.logind == .absent ? 1 : 0, width: 2)
    switch machine.state {
    case .sealed: bits.add(0, width: 2)
    case .unlocked: bits.add(1, width: 2)
    case .locked(.withoutPassword): bits.add(2, width: 2)
    case .locked: bits.add(3, width: 2)
    }
    bits.add(machine.isPasswordless, machine.hasStagedKeys, machine.isOpenedWithoutPassword, machine.isGoingToSleep)
    bits.add(machine.awaitsSession, stagingTimer, sessionTimer, inFlightIsStale)
    bits.add(keys.a, keys.c, keys.staged, isGoingToSleep, isPasswordless, logindWasHeard)
    bits.add(machine.pamSessions, width: 2)
    bits.add(inFlight.map { $0.mayLift.map { $0 ? 3 : 2 } ?? 1 } ?? 0, width: 2)
    bits.add(inFlight?.isOvertaken ?? false, inFlight?.hasEnded ?? false, inFlightIsOrphaned)
    // All ended sessions count as one.
    bits.add(sessionIsGone ? 3 : inFlight?.session ?? 0, width: 2)
    for saver in 0..<universe.screenSavers {
      bits.add(screenSavers.contains(saver), machine.activeScreenSavers.contains(":1.\(saver)"))
    }
    for session in 1...screens.count {
      let tracked = machine.sessions["\(session)"]
      bits.add(screens[session - 1].rawValue, width: 2)
      bits.add(tracked != nil, tracked?.isShielded ?? false, tracked?.wasAskedToLock ?? false)
      bits.add(tracked?.isStarting ?? false, behindGreeter.contains(session), front == .session(session))
    }
    bits.add(front == .greeter)
    return bits.value
  }

  private struct Bits {
    private(set) var value: UInt64 = 0
    private var count = 0

    mutating func add(_ number: Int, width: Int) {
      precondition(number >= 0 && number < 1 << width && count + width <= 64, "the world is too large")
      value |= UInt64(number) << UInt64(count)
      count += width
    }

    mutating func add(_ flags: Bool...) { for flag in flags { add(flag ? 1 : 0, width: 1) } }
  }
}

/// One step and its result.
struct Transition {
  let step: Step
  let before: Situation
  let after: Situation
  let effects: [SessionEffect]
  /// Whether the step was a lock.
  let locks: Bool
}

extension SessionMachine {
  /// The user's sessions that count, by logind's names; nil if logind has not reported its sessions.
  var knownSessions: [String]? { logind == .present ? sessions.keys.sorted() : nil }
}
