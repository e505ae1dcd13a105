import LatchkeySystemd

/// Follows logind over the system bus: all sessions, their locks, and sleep. Nothing here waits. If the bus or logind goes away,
/// the watch connects again when it is back.
///
/// Signals count only if they come from the connection that answered as logind: any user may send a forged signal directly to this
/// connection, without regard to the bus's match rules.
public final class LogindWatch {
  /// The events that the watch reports.
  public enum Report: Equatable, Sendable {
    /// All sessions, of all users. The first report comes after all sessions were read.
    case sessions([SessionFacts])
    /// There is no logind, or no system bus at all. The watch keeps trying.
    case absent
    /// A session of the user, or a session that logind has not described yet, was asked to lock.
    case lockSignal(session: String)
    case unlockSignal(session: String)
    /// The machine goes to sleep (true), and sleep is delayed until the handler has returned. Or the machine is awake (false),
    /// which may be reported several times.
    case prepareForSleep(Bool)
  }

  private let uid: UInt32
  private let loop: EventLoop
  private let address: Bus.Address
  private let handler: (Report) -> Void

  private var bus: Bus?
  private var slots: [BusSlot] = []
  private var monitor: LoginMonitor?
  private var retry: EventSource?
  private(set) var backOff = Duration.seconds(1)
  private let inhibitor = SleepInhibitor()
  private var isPreparingForSleep = false
  /// The number of calls of ``finishBeforeSleep`` that have not ended.
  private var finishing = 0

  /// Work that takes a moment after the handler of ``Report/prepareForSleep(_:)`` has returned. Sleep is delayed until the work
  /// calls its argument, once.
  var finishBeforeSleep: (@escaping () -> Void) -> Void = { $0() }

  /// The unique name of logind, once logind answered.
  private var owner: String?
  private var hasReported = false
  private var isAbsent = false
  /// All sessions, by their object path.
  private var table: [String: SessionFacts] = [:]

  /// Refreshes that wait for logind to answer for the first time, or again.
  private var waiting: [(Bool) -> Void] = []
  private var waitingTimer: EventSource?

  static let name = "org.freedesktop.login1"
  static let path = "/org/freedesktop/login1"
  static let manager = "org.freedesktop.login1.Manager"
  static let session = "org.freedesktop.login1.Session"

  /// The time after which a logind without an answer counts as silent. A refresh asks twice in a row, and the PAM stack that caused
  /// it waits three seconds in all.
  static let timeout = Duration.seconds(1)

  /// Watches for the vault of user `uid`; `handler` gets every report.
  public init(
    uid: UInt32, loop: EventLoop, address: Bus.Address = .system, handler: @escaping (Report) -> Void
  ) {
    self.uid = uid
    self.loop = loop
    self.address = address
    self.handler = handler
  }

  /// Connects, and tries again until it is connected.
  public func start() {
    guard bus == nil else { return }
    retry = nil
    do {
      let bus = try Bus(address, loop: loop)
      self.bus = bus
      try bus.onDisconnect { [weak self] in self?.lostBus() }
      try addMatches(bus)
      // Without the files of logind, its signals still report all changes.
      monitor = try? LoginMonitor(loop: loop) { [weak self] in self?.reread() }
    } catch {
      lostBus()
    }
  }

  /// Whether sleep waits for this program. False means that the lock before sleep is a race.
  public var holdsSleepInhibitor: Bool { inhibitor.isHeld }

  /// Reads all sessions again; `completion` is told whether logind answered, after the answer was reported. A known absence of
  /// logind counts as an answer. Silence and a lost bus do not. This takes two seconds at most, and `completion` is never called
  /// before this returns.
  public func refresh(completion: @escaping (Bool) -> Void) {
    if let bus, owner != nil {
      return SessionRound.start(self, bus: bus) { completion($0 == .answered) }
    }
    waiting.append(completion)
    guard waitingTimer == nil else { return }
    do {
      // The first answer may be under way: this program is often started by the login that brings the keys.
      waitingTimer = try loop.addTimer(after: isAbsent ? .zero : Self.timeout * 2) { [weak self] in
        self?.answerWaiting(self?.isAbsent ?? false)
      }
    } catch {
      answerWaiting(false)
    }
  }

  private func answerWaiting(_ answered: Bool) {
    waitingTimer = nil
    let completions = waiting
    waiting = []
    for completion in completions { completion(answered) }
  }

  /// Reads all sessions again, if logind exists.
  private func reread() {
    if owner != nil { ask() }
  }

  // MARK: The bus

  private func lostBus() {
    slots = []
    monitor = nil
    bus = nil
    owner = nil
    inhibitor.release()
    reportAbsenceIfNeverSeen()
    retry = nil
    scheduleRetry { [weak self] in self?.start() }
  }

  /// Tries once more later. A retry that is planned already serves this failure too, because several questions may fail at
  /// once.
  private func scheduleRetry(_ action: @escaping () -> Void) {
    guard retry == nil else { return }
    retry = try? loop.addTimer(after: backOff) { [weak self] in
      self?.retry = nil
      action()
    }
    backOff = min(backOff * 2, .seconds(60))
  }

  /// The known sessions stay valid until logind says something else, so that a restart of logind locks nobody out.
  private func reportAbsenceIfNeverSeen() {
    guard !hasReported, !isAbsent else { return }
    isAbsent = true
    handler(.absent)
    answerWaiting(true)
  }

  private func addMatches(_ bus: Bus) throws(SystemdError) {
    var missing = 4
    let installed: (BusError?) -> Void = { [weak self, weak bus] error in
      // Answers for an abandoned connection come late.
      guard let self, let bus, self.bus === bus else { return }
      missing -= 1
      // Sessions are read only once no signal can be missed. A refused rule would leave the watch deaf.
      if error != nil { self.lostBus() } else if missing == 0 { self.ask() }
    }
    slots = [
      try bus.matchSignal(
        sender: Self.name, path: Self.path, interface: Self.manager, installed: installed,
        handler: { [weak self] message throws(BusError) in try self?.managerSignal(message) }),
      try bus.matchSignal(
        sender: Self.name, interface: Self.session, installed: installed,
        handler: { [weak self] message throws(BusError) in try self?.sessionSignal(message) }),
      try bus.matchSignal(
        sender: Self.name, interface: Bus.properties, member: "PropertiesChanged", arg0: Self.session,
        installed: installed,
        handler: { [weak self] message throws(BusError) in try self?.propertiesChanged(message) }),
      try bus.matchSignal(
        sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged", arg0: Self.name,
        installed: installed,
        handler: { [weak self] message throws(BusError) in
          try message.skip()
          try message.skip()
          self?.ownerChanged(try message.readString())
        }),
    ]
  }

  private func ownerChanged(_ new: String) {
    owner = nil
    if !new.isEmpty { ask() }
  }

  /// Reads all sessions. Only logind answers.
  private func ask() {
    guard let bus else { return }
    SessionRound.start(self, bus: bus) { [weak self, weak bus] answer in
      guard let self, let bus, self.bus === bus else { return }
      if answer == .answered {
        self.backOff = .seconds(1)
        return self.answerWaiting(true)
      }
      if answer == .absent, self.owner == nil { self.reportAbsenceIfNeverSeen() }
      // A logind that starts announces its name, but one that hangs must be asked again. Otherwise the locks of the missing
      // sessions would go unnoticed.
      self.scheduleRetry { [weak self] in self?.ask() }
    }
  }

  // MARK: Reading

  /// Notes the sender of an answer as logind.
  func answered(by sender: String?) {
    guard let sender, sender != owner, let bus else { return }
    owner = sender
    isAbsent = false
    backOff = .seconds(1)
    retry = nil
    // A delay lock from a former logind may mean nothing to the present one.
    inhibitor.release()
    inhibitor.take(bus)
  }

  func forget(except paths: Set<String>) { table = table.filter { paths.contains($0.key) } }

  func learn(_ facts: SessionFacts, at path: String) { table[path] = facts }

  func reportSessions() {
    hasReported = true
    handler(.sessions(table.values.sorted { $0.id < $1.id }))
  }

  func learnSleep(_ isPreparing: Bool) {
    if isPreparing { sleepStarts() } else { sleepEnded() }
  }

  // MARK: Signals

  private func comesFromLogind(_ message: Message) -> Bool { owner != nil && message.sender == owner }

  private func managerSignal(_ message: Message) throws(BusError) {
    guard comesFromLogind(message) else { return }
    switch message.member {
    case "PrepareForSleep":
      if try message.readBool() { sleepStarts() } else { sleepEnded() }
    case "SessionNew":
      reread()
    case "SessionRemoved":
      try message.skip()
      if table.removeValue(forKey: try message.readObjectPath()) != nil, hasReported { reportSessions() }
    default: break
    }
  }

  private func sessionSignal(_ message: Message) throws(BusError) {
    guard comesFromLogind(message), let path = message.path, let member = message.member else { return }
    guard member == "Lock" || member == "Unlock" else { return }
    if let known = table[path] {
      guard known.uid == uid, known.isLogin else { return }
      handler(member == "Lock" ? .lockSignal(session: known.id) : .unlockSignal(session: known.id))
    } else if member == "Lock" {
      handler(.lockSignal(session: path))
    }
  }

  private func propertiesChanged(_ message: Message) throws(BusError) {
    guard comesFromLogind(message), let path = message.path, let before = table[path] else { return }
    var facts = before
    _ = try message.readString()
    try facts.take(message)
    // The signal has names without values, so logind must be asked.
    if !(try message.readStrings()).isEmpty { reread() }
    guard facts != before else { return }
    table[path] = facts
    if hasReported { reportSessions() }
  }

  // MARK: Sleep

  private func sleepStarts() {
    // Every reading of the sessions reports this again, which is not another sleep. But a logind that started meanwhile gave a
    // new delay lock.
    guard !isPreparingForSleep else { return releaseWhenFinished() }
    isPreparingForSleep = true
    // The handler erases the keys; only then may the machine sleep.
    handler(.prepareForSleep(true))
    finishing += 1
    finishBeforeSleep { [weak self] in
      self?.finishing -= 1
      self?.releaseWhenFinished()
    }
  }

  private func releaseWhenFinished() {
    // The machine may be awake again, and work from before an earlier sleep may not have ended.
    if isPreparingForSleep, finishing == 0 { inhibitor.release() }
  }

  private func sleepEnded() {
    isPreparingForSleep = false
    handler(.prepareForSleep(false))
    if let bus { inhibitor.take(bus) }
  }
}
