import Glibc
import LatchkeyBiometry
import LatchkeyClassRules
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeySessionState
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The vault of one user at work: the session's state decides which keys are in memory, the control socket brings them,
/// the bus serves what they open.
final class Daemon {
  let loop: EventLoop
  let vault: Vault
  let deviceService: DeviceServiceProbe
  private let rules: ClassRules
  let session: SessionReference
  private let owner: uid_t
  private(set) var presence: BusPresence?
  let launcher: PromptLauncher
  private(set) lazy var prompts = PromptQueue(loop: loop, delegate: self)
  let fingers: EnrolledFingers
  /// Ends the helpers that work on a password.
  var endHelpers: (UnwantedDerivations, _ gone: @escaping () -> Void) -> Void = { $1() }
  /// What the access log is to say of the items that somebody is asked about now.
  var askedAbout: [Question: AccessEvent] = [:]
  /// The backup or restore that is under way.
  var archive: Archive?
  /// Keys that wait until the locker is gone.
  private var staged: ArrivedKeys?
  private var idle: EventSource?
  private var settle: EventSource?
  /// The next ``meetDevice()``, where other work came first.
  var meeting: EventSource?
  /// When that is, from the last.
  var meetingDelay = Daemon.shortestMeetingDelay
  /// Whether the program was told to end: no key is taken any more.
  private(set) var isEnding = false
  /// Why the vault of a login without a password did not open, as it was logged.
  var passwordlessProblem: String?
  /// Whether the login password was changed without Latchkey, as far as a login has shown since.
  var needsFormerPassword = false
  let formerPasswordNotice = FormerPasswordNotice()
  /// Whether the sender of the last keys left Argon2id's memory as it was.
  var leavesDerivationMemory = false
  /// How long the login password took to check at the last unlock, in milliseconds, where this machine is too slow for it.
  var passwordTime: UInt32?
  /// What the journal has of the vault's problems.
  private var toldProblems: Set<String> = []
  /// When it is tried again at the earliest, on the clock of `Process.now`.
  var nextDeviceTry = 0

  private static let firstUnlockUnit = "latchkey-first-unlock.target"
  /// How long the vault must be quiet before its log is emptied.
  static let settleTime = Duration.seconds(20)
  private static let wasLocked = "the vault was locked meanwhile"
  static let shortestMeetingDelay = Duration.milliseconds(200)

  /// - Parameter promptProgram: what shows prompts where there is no service manager.
  init(
    loop: EventLoop, vault: Vault, deviceService: DeviceServiceProbe, rules: ClassRules, owner: uid_t,
    promptProgram: String
  ) {
    fingers = EnrolledFingers(loop: loop)
    launcher = PromptLauncher(loop: loop, program: promptProgram)
    self.loop = loop
    self.vault = vault
    self.deviceService = deviceService
    self.rules = rules
    self.owner = owner
    session = SessionReference()
    vault.damageNoted = { [weak self] in self?.tellProblems() }
    vault.toldOfOlderFiles = { older in
      let names = older.names.joined(separator: " and ")
      Journal.log(.warning, "an older copy of the vault was put back: \(names); 'latchkey status' says what that means")
    }
  }

  /// Starts to watch and to serve.
  ///
  /// - Parameter endsWithBus: whether the program ends when its bus does.
  func start(bus address: Bus.Address, endsWithBus: Bool) throws(SystemdError) {
    let watch = SessionWatch(uid: owner, loop: loop, delegate: self)
    session.watch = watch
    watch.start()
    let presence = BusPresence(
      loop: loop, vault: vault, promptQueue: prompts, address: address, endsWithBus: endsWithBus,
      isLockerUp: { [session] in session.machine.lockerUp },
      defaultClass: { [rules] attributes in rules.decision(for: attributes)?.rule.accessibility ?? .whenUnlocked },
      lookAgain: { [unowned self] in refresh() }, presentFingers: { [unowned self] in presentFingers($0) },
      facts: { [session, unowned self] in
        VaultObject.Facts(
          state: session.state.name, isFirstUnlocked: session.state != .sealed,
          needsFormerPassword: needsFormerPassword)
      },
      connected: { [session, formerPasswordNotice] bus in
        formerPasswordNotice.use(bus)
        do { try session.watch?.hearScreenSavers(on: bus) } catch {
          Journal.log(.warning, "screen savers cannot be heard: \(error)")
        }
      })
    self.presence = presence
    presence.connect()
    idle = try loop.addIdle { [weak self] in self?.idleTurn() ?? false }
    followPassword()
    settle = try loop.addTimer(after: Daemon.settleTime, repeating: true) { [weak self] in
      self?.vault.accessLog.write()
      self?.vault.settle()
      // A device key service that did not answer may do so now.
      self?.followPassword()
      self?.meetDevice()
      // What a full disk stopped goes on.
      if self?.vault.isRotating ?? false { self?.idle?.resume() }
    }
  }

  /// One small piece of the long work: looking at the whole database, wrapping what was stored while locked, and all keys
  /// anew after a change of keys.
  ///
  /// - Returns: whether there is more.
  private func idleTurn() -> Bool {
    vault.accessLog.write()
    if !vault.isVerified {
      if vault.verifyStep() { return true }
      presence?.service?.verificationEnded()
      tellProblems()
      // What an unlock left to this, as a device key that moved: not first in twenty seconds.
      vault.settle()
    }
    do throws(VaultError) {
      if try vault.writer.rewrapStoredWhileLocked() { return true }
      return try vault.rotateItems()
    } catch { return false }
  }

  /// Writes down what is wrong with the vault's files: each line once, whenever it is found.
  func tellProblems() {
    for problem in vault.problems where toldProblems.insert(problem).inserted { Journal.log(.error, problem) }
  }

  /// Lets the long work go on.
  func workWhenIdle() { idle?.resume() }

  /// Looks at the vault's files again. A database that was not there before is walked through, or answers that wait for
  /// that would wait for ever.
  func refresh() {
    vault.refresh()
    if !vault.isVerified { idle?.resume() }
    followPassword()
  }

  /// Erases what only an unlocked session may read, and ends the loop when no prompt is on the screen any more; called
  /// again, at once. What is said on the bus after that is not sent any more.
  func stop() {
    isEnding = true
    session.watch?.end()
    staged = nil
    eraseUnlockedKeys(telling: "the vault's service ends")
    prompts.end { [self] in
      presence?.service?.dismissPrompts()
      loop.exit()
    }
  }

  /// Erases every key and empties the log: the program ends.
  func end() {
    staged = nil
    // A disk that hangs holds up the rest, but no key stays for it that opens anything else than the access log.
    vault.sealAllButAccessLog()
    vault.accessLog.write()
    vault.seal()
    vault.settle()
    presence?.manage(.stop, Daemon.firstUnlockUnit)
  }
}

/// The session's state, as far as it is known already.
final class SessionReference {
  var watch: SessionWatch?
  private let unknown = SessionMachine(uid: getuid())

  var machine: SessionMachine { watch?.machine ?? unknown }

  var state: Status.State {
    switch machine.state {
    case .sealed: .sealed
    case .unlocked: .unlocked
    case .evicted: .locked
    }
  }
}

/// Keys that arrived and are on their way to the vault, or wait for the locker to go; erased with the last reference.
private final class ArrivedKeys {
  let tiers: TierKeys
  let former: [FormerTiers]
  let founded: Bool
  /// Whether collections that were locked by themselves open as well.
  let liftsMarks: Bool
  /// Which of them; nil for all.
  let marked: Set<Int64>?

  init(_ delivery: consuming TierDelivery, liftsMarks: Bool, of marked: Set<Int64>?) {
    founded = delivery.founded
    former = delivery.former
    tiers = delivery.takeTiers()
    self.liftsMarks = liftsMarks
    self.marked = marked
  }
}

// MARK: - control socket

extension Daemon: ControlHandler {
  func hello(_ hello: Hello, from peer: LocalSocket.Peer, answer: @escaping (Need, Claim?) -> Void) {
    refresh()
    switch decide(hello, peer) {
    // Neither its beginning nor its end counts as a session's.
    case .refused(let reason): return answer(.refused(reason), nil)
    case .nothing: answer(.nothing, nil)
    case .keys(let mayLift):
      session.watch?.claim(by: PeerProcess.of(pid: peer.pid), mayLift: mayLift, ownLocks: vault.ownLocks) {
        [session] claim in
        // What is refused anyway is not to be worked on, least of all while nothing holds up sleep any more.
        if let reason = session.machine.refusal(of: claim) { return answer(.refused(reason), nil) }
        answer(.keys, claim)
      }
      // It starts while the keys are made.
      deviceService.ask {}
    }
    switch hello.stage {
    case .authenticate: break
    case .openSession: session.watch?.pamSessionOpened()
    case .closeSession:
      session.watch?.pamSessionClosed()
      // Who logs in after the last one is to hear of it as well.
      if session.machine.pamSessions == 0 { formerPasswordNotice.forget() }
    }
  }

  func decide(_ hello: Hello, _ peer: LocalSocket.Peer) -> AuthenticationPolicy.Decision {
    guard let watch = session.watch, let stage = AuthenticationPolicy.Stage(rawValue: hello.stage.rawValue) else {
      return .refused("the daemon is starting")
    }
    // Where no logind tells this daemon of sessions, a process is in none that it could know.
    let process = watch.machine.logind == .absent ? PeerProcess.unknown : PeerProcess.of(pid: peer.pid)
    let decision = watch.decide(
      AuthenticationPolicy.Request(
        stage: stage, service: hello.service, tty: hello.tty, rhost: hello.remoteHost, peer: process))
    guard decision == .nothing, stage != .closeSession, liftsMarks(hello) else { return decision }
    // With the login's first password all keys change.
    if stage == .openSession, watch.machine.isPasswordless { return .keys(mayLift: false) }
    // A session that is unlocked has no need of keys, but what was locked by itself has, and a password
    // that founded the vault is proven only when a second login opens the keybag with it.
    let hasUnproven = vault.keybag?.protectors.contains { $0.state == .unproven } ?? false
    let proves = stage == .openSession && hasUnproven
    // Nor has it of the keys of a generation that the keybag still has, and nothing hangs on any more.
    let epochs = vault.keybag?.epochs ?? []
    let drops = epochs.count > 1 && vault.neededEpoch == epochs.last?.number
    // Nor does the state say that the password opens nothing, which the person can fix now.
    let fixes = needsFormerPassword && hello.service == AuthenticationPolicy.commandService
    return proves || drops || fixes || vault.hasOwnLocks ? .keys(mayLift: false) : decision
  }

  /// A login, and the person who asks for it by name, open collections and items that were locked by themselves; a
  /// screen locker does not.
  private func liftsMarks(_ hello: Hello) -> Bool {
    hello.stage == .openSession || hello.service == AuthenticationPolicy.commandService
  }

  func unlock(
    _ delivery: consuming TierDelivery, _ hello: Hello, by claim: Claim?, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void
  ) {
    refresh()
    do {
      guard try vault.recognises(delivery.tiers, former: delivery.former) else {
        Journal.log(.warning, "keys from \(hello.service) are not this vault's")
        return answer(.wrongKeys)
      }
    } catch { return answer(.unusable(error.explanation)) }
    noteDerivationMemory(of: delivery)
    do { try vault.check(delivery.tiers, former: delivery.former, mayCreate: delivery.founded) } catch {
      Journal.log(.error, "the vault does not open: \(error.explanation)")
      return answer(.unusable(error.explanation))
    }
    guard !isEnding else { return answer(.refused("the daemon ends")) }
    guard let claim, let watch = session.watch, case .keys(let mayLift) = decide(hello, peer) else {
      return answer(.refused("not now"))
    }
    // Minutes may have passed: where its session has ended, this process is no part of any login.
    guard PeerProcess.of(pid: peer.pid) == claim.process else { return answer(.refused("its session has ended")) }
    // Who answers a prompt opens what was asked for; who logs in, or asks by name, everything.
    // What was locked by itself since the password was given stays so.
    let keys = ArrivedKeys(
      delivery, liftsMarks: liftsMarks(hello) && claim.ownLocks == vault.ownLocks,
      of: hello.prompt == 0 ? nil : prompts.lifting(prompt: hello.prompt) ?? [])
    watch.keysArrived(mayLift: mayLift, by: claim, after: deviceService.ask) { [weak self] outcome in
      guard let self, !isEnding else { return answer(.refused("the daemon ends")) }
      answer(install(keys, outcome))
    }
  }

  func mayDerive(from peer: LocalSocket.Peer, answer: @escaping (Result<Claim, Refusal>) -> Void) {
    guard let watch = session.watch, !isEnding else {
      return answer(.failure(Refusal(reason: isEnding ? "the daemon ends" : "the daemon is starting")))
    }
    watch.claim(by: PeerProcess.of(pid: peer.pid), mayLift: false) { [session] claim in
      // As with a login: what is unwanted already is not to be worked on, least of all while nothing holds up sleep any more.
      if let reason = session.machine.refusal(of: claim) { return answer(.failure(Refusal(reason: reason))) }
      answer(.success(claim))
    }
  }

  /// The state was changed for keys that then did not open the vault: back to where nothing is open.
  func undo() {
    vault.seal()
    archive?.cancel(Daemon.wasLocked)
    staged = nil
    session.watch?.keysFailed()
  }

  private func install(_ keys: ArrivedKeys, _ outcome: KeyOutcome) -> UnlockOutcome {
    do throws(VaultError) {
      switch outcome {
      case .notNeeded:
        if keys.liftsMarks { try open(keys, .everything) }
        return .live
      case .refused(let reason): return .refused(reason)
      case .live:
        try open(keys, .everything)
        return .live
      case .staged:
        try open(keys, .session)
        staged = keys
        return .staged
      case .firstUnlockOnly:
        try open(keys, .session)
        return .live
      }
    } catch {
      Journal.log(.error, "the vault does not open: \(error.explanation)")
      undo()
      return .unusable(error.explanation)
    }
  }

  private func open(_ keys: ArrivedKeys, _ opening: Vault.Opening) throws(VaultError) {
    try vault.unlock(
      keys.tiers, former: keys.former, opening: opening, liftingMarks: keys.liftsMarks, of: keys.marked,
      mayCreate: keys.founded)
    // A password, or the code, has shown that it opens the vault.
    needsFormerPassword = false
    formerPasswordNotice.forget()
    // Said anew by whoever brought these keys.
    passwordTime = nil
    keysCame()
  }

  /// To be called when the vault took keys over.
  func keysCame() {
    idle?.resume()
    tellDestroyed()
    // The session's state may be what it was: a collection's own lock is no part of it.
    sessionStateChanged()
    meetDevice()
  }

  var status: Status {
    refresh()
    rules.refresh()
    let machine = session.machine
    var status = Status()
    status.state = session.state
    status.firstUnlocked = status.state != .sealed
    switch machine.state {
    case .sealed: status.lockReasons = [machine.sealReason.description]
    case .evicted(let reason): status.lockReasons = [reason.description]
    case .unlocked: break
    }
    status.lockerUp = machine.lockerUp
    status.staged = machine.hasStagedKeys
    status.classes = AccessibilityClass.allCases.map { .init(name: $0.name, isPresent: vault.hasKey($0)) }
    status.problems = vault.problems + rules.problems + fingerProblems
    if needsFormerPassword { status.problems.append(Daemon.formerPasswordProblem) }
    if leavesDerivationMemory { status.problems.append(Daemon.derivationMemoryProblem) }
    if let passwordTime { status.problems.append(Daemon.slowPasswordProblem(milliseconds: passwordTime)) }
    status.needsFormerPassword = needsFormerPassword
    status.vaultPath = vault.path
    status.generation = vault.keybag?.generation ?? 0
    status.deviceKey = vault.deviceIsMissing ? "unavailable" : vault.deviceBackend?.rawValue ?? ""
    status.memoryLocked = SecureBytes.memoryIsLocked
    status.swappableSecrets = SecureBytes.lockFailures
    status.nameOwner = presence?.nameOwner ?? "nobody"
    status.lockSources =
      (machine.logind == .present ? ["logind"] : []) + (presence?.service == nil ? [] : ["screen savers on the bus"])
    status.items = UInt64((try? vault.reader.itemCount()) ?? 0)
    status.collections = UInt64(vault.collections.count)
    status.lockedCollections = UInt64(vault.lockedCollectionCount)
    status.hasLockedItems = vault.hasLockedItems
    status.otherDeviceItems = UInt64((try? vault.otherDeviceItemCount()) ?? 0)
    status.rotation = rotation
    status.epoch = vault.keybag?.epoch.number ?? 0
    status.passwordless = machine.isPasswordless
    status.recoveryCodeCreated = vault.keybag?.recoveryCodeCreated ?? 0
    status.openedWithoutPassword = machine.isOpenedWithoutPassword
    status.protectors = (vault.keybag?.protectors ?? []).map {
      Status.Protector(kind: $0.kind.rawValue, state: $0.state.rawValue, created: $0.created)
    }
    status.hasOlderKeybag = vault.olderFiles.contains(.keybag)
    status.hasOlderDatabase = vault.olderFiles.contains(.database)
    return status
  }

  func lock() throws(Refusal) {
    // Also where there is nothing to lock, or it was locked before; after the keys, as what is asked then is another thing.
    defer { dropGrants() }
    guard !session.machine.isPasswordless else {
      throw Refusal(reason: "your login has no password, so the vault cannot be locked. Set one with 'passwd'")
    }
    session.watch?.lock()
  }
}

// MARK: - session state

extension Daemon: SessionWatchDelegate {
  func eraseUnlockedKeys(_ reason: LockReason) { eraseUnlockedKeys(telling: Daemon.wasLocked) }

  /// - Parameter reason: what a backup or a restore that is under way is told.
  private func eraseUnlockedKeys(telling reason: String) {
    vault.evict()
    dropGrants()
    archive?.cancel(reason)
  }

  func eraseAllKeys(_ reason: SealReason) {
    staged = nil
    vault.seal()
    dropGrants()
    switch reason {
    case .sessionsEnded, .noSession:
      vault.forgetOlderFiles()
      // Who logs in next is to hear of it as well.
      formerPasswordNotice.forget()
    // The person who is to read it has not gone.
    case .started, .keysFailed, .hibernation, .putAside: break
    }
    archive?.cancel(Daemon.wasLocked)
    presence?.service?.sessionEnded()
    presence?.manage(.stop, Daemon.firstUnlockUnit)
  }

  /// What a person answered for does not outlive a lock.
  func dropGrants() {
    presence?.service?.dropGrants()
  }

  func eraseStagedKeys() { staged = nil }

  func endDerivations(_ which: UnwantedDerivations, gone: @escaping () -> Void) { endHelpers(which, gone) }

  func stagedKeysGoLive() {
    guard let keys = staged else { return }
    staged = nil
    do throws(VaultError) { try open(keys, .everything) } catch {
      Journal.log(.error, "the vault does not open: \(error.explanation)")
      undo()
    }
  }

  func firstUnlockHappened() { presence?.manage(.start, Daemon.firstUnlockUnit) }

  func sessionStateChanged() {
    // A lock that found no key to erase, as where the login has no password, is one all the same.
    if isLockerUp { dropGrants() }
    tellOfFormerPassword()
    presence?.stateChanged()
    prompts.stateChanged()
  }
}
