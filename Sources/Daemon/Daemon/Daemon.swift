// Daemon: the vault of one user at work.
//
// This module is latchkeyd. ``Daemon`` puts the parts together and tells each about the others. The
// session's state decides which keys are in memory, the control socket brings keys, and the objects on
// the bus serve what the keys open.
//
//     let daemon = try Daemon(…)
//     try daemon.start(serving: socket, begun: moment)
//     return try loop.run()
//
// The daemon gives each part the objects that it needs. `VaultOpening` takes keys, and `DeviceOpening` opens by the device key.
// `VaultPrompts` knows what prompts are about. `ArchiveService`, `HistoryService` and `AccessLogService` serve their messages, each
// by a row in the `ControlTable`. `VaultUpkeep` does the work that waits. `LoginHold` holds calls back while the keys of a login
// are on their way.
//
// The module promises that it has one thread and one event loop, and waits for nobody. A lock erases
// keys before anything else happens, also before anybody is told. The keys in memory follow from the
// session's state, and only keys that fit the keybag come in. A peer that is stopped, slow or hostile
// costs the others nothing. An outdated daemon gives way to the installed one.
//
// It does not derive keys and never sees a password. It draws no window: `latchkey-prompt` is a unit of
// its own. It parses no file of another program. It decides nothing about D-Bus, which SecretService
// does, nor about sessions, which SessionState does. Arguments and files of the command line are in
// Programs/latchkeyd.

import Glibc
import LatchkeyClassRules
import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySecretService
import LatchkeySessionState
import LatchkeySystemd
import LatchkeyVault

/// The vault of one user at work: the session's state decides which keys are in memory, the control socket brings keys, and the bus
/// serves the opened items. This type puts the parts together, and tells each part about the others.
package final class Daemon {
  private let loop: EventLoop
  private let vault: Vault
  private let rules: ClassRules
  private let owner: uid_t
  private let session = SessionReference()
  private let presence: BusPresence
  private let history: HistoryKeeper
  private let upkeep: VaultUpkeep
  private let fingers: FingerCheck
  private let deviceService: DeviceServiceProbe
  private let log: AccessLogService
  private let launcher: PromptLauncher
  private let firstNotice: FirstNotice
  private let healingNotice: HealingNotice
  private let fingerNotice = FingerNotice()
  private let protectorNotice = ProtectorNotice()
  private let hold: LoginHold
  private let finger: FingerHold
  private lazy var device = DeviceOpening(
    vault, session: session, service: deviceService, upkeep: upkeep, loop: loop, observer: self)
  private lazy var password = LoginPassword(vault, session: session, device: device, observer: self)
  private lazy var prompts = VaultPrompts(
    vault, session: session, presence: presence, fingers: fingers, device: device, log: log, upkeep: upkeep,
    launcher: launcher, loop: loop, observer: self)
  private lazy var opening = VaultOpening(
    vault, session: session, deviceService: deviceService, device: device, password: password, queue: prompts.queue,
    upkeep: upkeep, hold: hold, finger: finger, observer: self)
  private lazy var generations = HistoryService(
    vault, keeper: history, session: session, presence: presence, upkeep: upkeep, observer: self)
  private lazy var report = StatusReport(
    vault, session: session, presence: presence, rules: rules, device: device, password: password, fingers: fingers,
    history: history, opening: opening, hold: hold, finger: finger)
  private lazy var replacement = Replacement(
    session: session, opening: opening, isStartedAgain: !endsWithBus
  ) { [unowned self] in stop(code: presence.isNameKept ? Daemon.startAgain : 0) }
  private var server: ControlServer?
  /// Whether no service manager starts the program again when it is needed.
  private let endsWithBus: Bool

  /// With this exit status the service manager starts the program again at once, and keeps the program's descriptors
  /// (`latchkeyd.service`).
  private static let startAgain: Int32 = 75
  private static let firstUnlockUnit = "latchkey-first-unlock.target"
  private static let lockedMeanwhile = Reason.refusal(.vaultLockedMeanwhile)

  /// The control socket among the descriptors that the service manager passed.
  package static func controlSocket(
    in passed: [ServiceManager.ListenDescriptor]
  ) -> ServiceManager.ListenDescriptor? {
    passed.first { !NamePlace.isOne($0) }
  }

  /// Puts the parts together.
  ///
  /// - Parameters:
  ///   - home: the folder below which the vault is.
  ///   - devicePath: where the device key service listens.
  ///   - deviceLimit: bounds the vault's requests to the device key.
  ///   - promptProgram: the program that shows prompts if there is no service manager.
  ///   - passed: the descriptors that the service manager passed to this program.
  ///   - endsWithBus: whether the program ends when its bus does.
  package init(
    loop: EventLoop, vault: Vault, rules: ClassRules, owner: uid_t, home: String, devicePath: String,
    deviceLimit: TurnLimit, promptProgram: String, bus: Bus.Address,
    passed: [ServiceManager.ListenDescriptor], endsWithBus: Bool
  ) {
    self.loop = loop
    self.vault = vault
    self.rules = rules
    self.owner = owner
    self.endsWithBus = endsWithBus
    presence = BusPresence(loop: loop, vault: vault, address: bus, passed: passed, endsWithBus: endsWithBus)
    hold = LoginHold(loop: loop, presence: presence)
    finger = FingerHold(vault, loop: loop, path: devicePath)
    history = HistoryKeeper(vault, home: home, owner: owner)
    upkeep = VaultUpkeep(vault, presence: presence, history: history)
    fingers = FingerCheck(vault, presence: presence, loop: loop)
    deviceService = DeviceServiceProbe(loop: loop, path: devicePath, limit: deviceLimit)
    log = AccessLogService(vault, upkeep: upkeep, presence: presence)
    launcher = PromptLauncher(loop: loop, program: promptProgram)
    firstNotice = FirstNotice(home: home, owner: owner)
    healingNotice = HealingNotice(vault, home: home, owner: owner)
    vault.delegate = self
    // These files were healed at the opening of the vault, before the vault had a delegate.
    if let healing = vault.keybagHealing { wasHealed(healing) }
    if let healing = vault.healing.done { wasHealed(healing) }
    presence.delegate = self
    finger.ended = { [unowned self] why in
      fingerNotice.note(why)
      stateChanged()
    }
  }

  /// Starts to watch and to serve.
  ///
  /// - Parameters:
  ///   - control: the socket that peers connect to.
  ///   - begun: when the program began, in microseconds since the machine started.
  package func start(serving control: consuming LocalSocket, begun: UInt64) throws(SystemdError) {
    server = try ControlServer(control, loop: loop, owner: owner, table: controlTable, delegate: self)
    let watch = SessionWatch(uid: owner, loop: loop, delegate: self, begun: begun)
    session.watch = watch
    watch.start()
    presence.connect()
    try upkeep.start(on: loop) { [weak self] in
      // A device key service that did not answer earlier may answer now.
      self?.device.followPassword()
      self?.device.meet()
    }
    device.followPassword()
    upkeep.tellProblems()
  }

  /// The handlers of all messages of the control socket.
  private var controlTable: ControlTable {
    var table = ControlTable { [unowned self] in opening.mayDerive(from: $0, answer: $1) }
    opening.serve(in: &table)
    prompts.serve(in: &table)
    device.serve(in: &table)
    password.serve(in: &table)
    log.serve(in: &table)
    report.serve(in: &table)
    generations.serve(in: &table)
    table.answer(LockVault.self) { [unowned self] _, _ throws(Refusal) in
      try lock()
      return Done()
    }
    table.answer(PutVaultAside.self) { [unowned self] message, _ throws(Refusal) in
      VaultAside(path: try putAside(folder: message.folder))
    }
    return table
  }

  /// Erases the keys of an unlocked session, and ends the loop when no prompt is on the screen any more; at once if it is
  /// called again. Later messages to the bus are not sent.
  ///
  /// - Parameter code: the program's exit status.
  package func stop(code: Int32 = 0) {
    opening.stop()
    session.watch?.end()
    eraseUnlockedKeys(telling: .refusal(.serviceEnds))
    prompts.queue.end { [self] in
      presence.service?.dismissPrompts()
      loop.exit(code: code)
    }
  }

  /// Erases every key and empties the log, because the program ends.
  package func end() {
    opening.eraseStagedKeys()
    // A disk that hangs holds up the rest. Meanwhile only the access log's keys stay in memory.
    vault.sealAllButAccessLog()
    vault.accessLog.write()
    vault.seal()
    vault.settle()
    presence.manage(.stop, Daemon.firstUnlockUnit)
  }

  private func lock() throws(Refusal) {
    guard !session.machine.isPasswordless else {
      // Grants end even if there is no key to erase.
      endGrantsAndRequests()
      throw Refusal(.refusal(.noLoginPassword))
    }
    session.watch?.lock()
  }

  /// Sets the vault in a folder aside, and returns its new path.
  private func putAside(folder: String) throws(Refusal) -> String {
    device.refresh()
    guard folder == vault.path else { throw Refusal(.folderIs(vault.path)) }
    guard vault.isThere else { throw Refusal(vault.lack) }
    guard !isLockerUp else { throw Refusal(.refusal(.screenLocked)) }
    cancelArchives(.refusal(.vaultPutAside))
    endGrantsAndRequests()
    presence.service?.endPrompts()
    defer {
      presence.service?.verificationEnded()
      upkeep.goOn()
      stateChanged()
    }
    let place: String
    do throws(VaultError) { place = try vault.setAside(as: KeybagFile.asidePrefix + Daemon.stamp) } catch {
      // The vault is at its former place, and its files are closed.
      keysDidNotOpen()
      throw Refusal(error.reason)
    }
    session.watch?.vaultPutAside()
    password.forget()
    device.forgetProblem()
    Journal.log(.warning, "'latchkey start-empty' renamed the vault to \(place)")
    return place
  }

  /// The local time, as a part of a file name that a person reads.
  private static var stamp: String {
    var now = time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y%m%d-%H%M%S", &parts)
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// - Parameter reason: the reason that a backup or a restore under way reports.
  private func eraseUnlockedKeys(telling reason: Reason) {
    vault.lock()
    endGrantsAndRequests()
    cancelArchives(reason)
  }

  /// Ends long work that needs an unlocked vault.
  private func cancelArchives(_ reason: Reason) {
    prompts.archives.cancel(reason)
    generations.cancel(reason)
  }

  /// Forgets the answers of persons, which end with a lock.
  private func endGrantsAndRequests() { presence.service?.endGrantsAndRequests() }
}

extension Daemon: KeyObserver {
  func keysCame() {
    // If these keys came without a password, the keys of a login's password may still follow, so the hold continues.
    if !session.lacksPasswordKeys { hold.end() }
    upkeep.goOn()
    upkeep.tellDestroyed()
    // The session's state may be the same, because a collection's explicit lock is no part of that state.
    stateChanged()
    device.meet()
  }

  func keysDidNotOpen() {
    vault.seal()
    cancelArchives(Daemon.lockedMeanwhile)
    opening.eraseStagedKeys()
    session.watch?.keysFailed()
  }

  func stateChanged() {
    finger.follow()
    password.tell()
    tellNotices()
    presence.stateChanged()
    prompts.queue.stateChanged()
    opening.followTouch()
  }

  /// Shows the notifications that are true now, if the person can read them.
  private func tellNotices() {
    let presence = presence
    let isFree = session.state == .unlocked && !isLockerUp
    if isFree, presence.ownsSecretsName {
      firstNotice.tell(created: vault.created, othersWait: presence.othersWaitForName)
    } else {
      firstNotice.hold()
    }
    if isFree { healingNotice.tell() } else { healingNotice.hold() }
    if isFree { protectorNotice.tell() } else { protectorNotice.hold() }
    if isFree { fingerNotice.tell() } else { fingerNotice.hold() }
  }
}

extension Daemon: SessionWatchDelegate {
  package func eraseUnlockedKeys(_ reason: LockReason) {
    opening.eraseStagedKeys()
    finger.locked()
    eraseUnlockedKeys(telling: Daemon.lockedMeanwhile)
  }

  package func eraseAllKeys(_ reason: SealReason) {
    opening.eraseStagedKeys()
    finger.drop()
    vault.seal()
    endGrantsAndRequests()
    switch reason {
    case .sessionsEnded, .noSession:
      vault.endSession()
      // The next login shows the notification again.
      password.notice.forget()
    // The person has not logged out, so the notification stays.
    case .started, .keysFailed, .hibernation, .putAside: break
    }
    cancelArchives(Daemon.lockedMeanwhile)
    presence.service?.sessionEnded()
    presence.manage(.stop, Daemon.firstUnlockUnit)
  }

  package func lockErasedNothing() {
    opening.eraseTouchedKeys()
    opening.leaveTouch()
    endGrantsAndRequests()
  }

  package func eraseStagedKeys() { opening.eraseStagedKeys() }

  package func endDerivations(_ which: UnwantedDerivations, gone: @escaping () -> Void) {
    guard let server else { return gone() }
    server.endDerivations(which, gone: gone)
  }

  package func stagedKeysGoLive() { opening.stagedKeysGoLive() }

  package func firstUnlockHappened() { presence.manage(.start, Daemon.firstUnlockUnit) }

  package func sessionStateChanged() { stateChanged() }
}

extension Daemon: VaultDelegate {
  package func wasHealed(_ healing: Healing) {
    Journal.log(.warning, healing.explanation)
    healingNotice.wasHealed()
  }

  package func wasHealed(_ healing: KeybagHealing) {
    Journal.log(.warning, healing.explanation)
    healingNotice.wasHealed()
  }

  package func foundOlder(_ files: OlderFiles) {
    let names = files.names.joined(separator: " and ")
    Journal.log(.warning, "an older copy of the vault was put back: \(names); 'latchkey status' says what that means")
  }

  package func changedProtectors(added: [Protector], removed: [Protector]) {
    protectorNotice.note(added: added, removed: removed)
    tellNotices()
  }

  package func foundDamage() { upkeep.tellProblems() }
}

extension Daemon: ControlServerDelegate {
  func promptEnded(on connection: any PromptConnection, _ end: PromptEnd?) {
    prompts.ended(on: connection, end)
    opening.followTouch()
  }

  func met(_ message: OtherVersionMessage, from peer: ControlPeer) { replacement.met(message, from: peer) }
}

extension Daemon: BusPresenceDelegate {
  package var isLockerUp: Bool { session.machine.lockerUp }

  package func defaultClass(for attributes: [String: String]) -> AccessibilityClass {
    rules.decision(for: attributes)?.rule.accessibility ?? .whenUnlocked
  }

  package func lookAgain() { device.refresh() }

  package func presentFingers(_ answer: @escaping (Result<FingerSet, VaultError>) -> Void) {
    fingers.presentFingers(answer)
  }

  var promptQueue: PromptQueue { prompts.queue }

  func nameAnswered() { tellNotices() }

  var vaultFacts: VaultObject.Facts {
    VaultObject.Facts(
      state: session.state.name, isFirstUnlocked: session.state != .sealed, needsFormerPassword: password.needsFormer)
  }

  func connected(to bus: Bus) {
    password.notice.use(bus)
    firstNotice.use(bus)
    healingNotice.use(bus)
    fingerNotice.use(bus)
    protectorNotice.use(bus)
    do { try session.watch?.hearScreenSavers(on: bus) } catch {
      Journal.log(.warning, "locks that a screen saver announces go unnoticed: \(error)")
    }
  }
}
