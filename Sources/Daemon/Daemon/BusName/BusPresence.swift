import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeySystemd
import LatchkeyVault

/// The parts of the daemon that its presence on the bus uses.
protocol BusPresenceDelegate: SecretServiceDelegate {
  /// The queue of questions to persons.
  var promptQueue: PromptQueue { get }
  /// The facts about the vault that clients may read.
  var vaultFacts: VaultObject.Facts { get }
  /// A new connection exists, which the other listeners on the bus use from now on.
  func connected(to bus: Bus)
  /// The bus has said who owns the Secret Service's name.
  func nameAnswered()
}

/// The daemon's place on the session bus: it connects, requests its names, and tries again after the bus or a name was lost. The
/// vault works with or without it.
final class BusPresence {
  private let loop: EventLoop
  private let vault: Vault
  private let address: Bus.Address
  /// Whether no service manager started this program.
  let endsWithBus: Bool
  weak var delegate: (any BusPresenceDelegate)?

  private var bus: Bus?
  private(set) var service: SecretService?
  private var object: VaultObject?
  private let secretsName: BusName
  private let secretsPlace: NamePlace
  /// The daemon takes this name in any state of the vault, even beside another provider of secrets: the portals' frontend looks for
  /// the name when it starts.
  private let portalName = BusName(
    SecretService.portalBusName, consequence: "sandboxed applications get their secrets there")
  private var retry: EventSource?
  private var unitRetry: EventSource?
  private var retryDelay = Duration.milliseconds(250)
  private var hasConnected = false
  /// Whether reading from the bus is paused.
  private var isPaused = false
  /// Whether the bus has said who owns the Secret Service's name. Until then no program finds the daemon, so reading is not paused.
  private var isNameAnswered = false
  /// The owner of the Secret Service's name: "latchkeyd", "nobody", or another program's bus name.
  var nameOwner: String { secretsName.owner }
  /// Whether programs that look for the Secret Service find this daemon.
  var ownsSecretsName: Bool { secretsName.isOurs }
  /// Whether the service manager keeps the name for the next daemon.
  var isNameKept: Bool { secretsPlace.isKept }
  /// Whether another program waits for the name.
  var othersWaitForName: Bool { secretsPlace.othersWait }

  /// - Parameter passed: the descriptors that the service manager passed to this program.
  init(
    loop: EventLoop, vault: Vault, address: Bus.Address, passed: [ServiceManager.ListenDescriptor], endsWithBus: Bool
  ) {
    self.loop = loop
    self.vault = vault
    self.address = address
    self.endsWithBus = endsWithBus
    secretsPlace = NamePlace(SecretService.busName, loop: loop, address: address, passed: passed)
    secretsName = BusName(
      SecretService.busName, consequence: "applications keep their secrets there", place: secretsPlace)
  }

  /// Connects, now or as soon as there is a bus.
  func connect() {
    guard let delegate else { return }
    do {
      let bus = try Bus(address, loop: loop)
      try bus.onDisconnect { [weak self] in self?.lost() }
      service = try SecretService(
        bus: bus, loop: loop, vault: vault, promptQueue: delegate.promptQueue, delegate: delegate)
      object = try VaultObject(bus: bus) { [unowned delegate] in delegate.vaultFacts }
      self.bus = bus
      delegate.connected(to: bus)
      try secretsName.claim(on: bus) { [weak self] isOurs in self?.answered(isOurs) }
      try portalName.claim(on: bus) { _ in }
    } catch {
      lost()
    }
  }

  private func lost() {
    // Without a service manager, only the bus shows that the daemon's session still exists.
    if hasConnected && endsWithBus { return loop.exit() }
    secretsName.forget()
    portalName.forget()
    service?.disconnect()
    (service, object, bus) = (nil, nil, nil)
    isNameAnswered = false
    // A login brings the bus up a moment after the daemon; later there is no hurry.
    retry = try? loop.addTimer(after: retryDelay) { [weak self] in self?.connect() }
    retryDelay = min(retryDelay * 2, .seconds(30))
  }

  private func answered(_ isOurs: Bool) {
    // From now on the daemon ends with the bus, even if another program has the name.
    hasConnected = true
    retryDelay = .milliseconds(250)
    isNameAnswered = true
    if isPaused { bus?.pause() }
    if isOurs { service?.stateChanged() }
    delegate?.nameAnswered()
  }

  /// Pauses reading, so that messages of programs wait. The daemon still claims its names: another provider must not get them, and
  /// the bus makes a program that started the daemon wait for these names.
  func pause() {
    isPaused = true
    if isNameAnswered { bus?.pause() }
  }

  /// Reads the bus again.
  func resume() {
    guard isPaused else { return }
    isPaused = false
    // The connection cannot be used, so a new connection is made.
    do throws(SystemdError) { try bus?.resume() } catch { lost() }
  }

  /// Tells clients of the changes.
  func stateChanged() {
    service?.stateChanged()
    if let delegate { object?.changed(to: delegate.vaultFacts) }
  }

  /// Starts a unit of the user's service manager once, and reports a failure.
  func start(unit: String, failed: @escaping () -> Void) {
    guard let bus, bus.isOpen else { return failed() }
    do throws(BusError) { try call(.start, unit, bus) { failed() } } catch { failed() }
  }

  private func call(
    _ operation: UnitOperation, _ unit: String, _ bus: Bus, failed: @escaping () -> Void
  ) throws(BusError) {
    try bus.callAsync(
      destination: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
      interface: "org.freedesktop.systemd1.Manager", member: operation.rawValue, autoStart: false
    ) { out in
      out.appendString(unit)
      out.appendString("replace")
    } reply: { reply in
      if case .failure = reply { failed() }
    }
  }

  /// Starts or stops a unit of the user's service manager, which may need a moment before it is on the bus. Without a service
  /// manager, nothing happens.
  func manage(_ operation: UnitOperation, _ unit: String) {
    unitRetry = nil
    manage(operation, unit, triesLeft: 40)
  }

  private func manage(_ operation: UnitOperation, _ unit: String, triesLeft: Int) {
    guard let bus, bus.isOpen else { return retryUnit(operation, unit, triesLeft) }
    do throws(BusError) {
      try call(operation, unit, bus) { [weak self] in self?.retryUnit(operation, unit, triesLeft) }
    } catch { retryUnit(operation, unit, triesLeft) }
  }

  private func retryUnit(_ operation: UnitOperation, _ unit: String, _ triesLeft: Int) {
    guard triesLeft > 0 else { return }
    unitRetry = try? loop.addTimer(after: .milliseconds(250)) { [weak self] in
      self?.manage(operation, unit, triesLeft: triesLeft - 1)
    }
  }

  enum UnitOperation: String {
    case start = "StartUnit"
    case stop = "StopUnit"
  }
}
