import Keybag
import SecretService
import Systemd
import Vault

/// The daemon's place on the session bus: connects, asks for the name, and comes back when the bus or the name was
/// lost. The vault is open with or without it.
final class BusPresence {
  private let loop: EventLoop
  private let vault: Vault
  private let address: Bus.Address
  private let endsWithBus: Bool
  private let isLockerUp: () -> Bool
  private let defaultClass: ([String: String]) -> AccessibilityClass
  private let facts: () -> VaultObject.Facts
  /// Told of every new connection, for what else listens on the bus.
  private let connected: (Bus) -> Void

  private var bus: Bus?
  private(set) var service: SecretService?
  private var object: VaultObject?
  private var nameWatch: BusSlot?
  private var retry: EventSource?
  private var unitRetry: EventSource?
  private var retryDelay = Duration.milliseconds(250)
  private var saidThatNameIsTaken = false
  private var hasConnected = false
  /// Who owns the name: "latchkeyd", "nobody", or another program's bus name.
  private(set) var nameOwner = "nobody"

  init(
    loop: EventLoop, vault: Vault, address: Bus.Address, endsWithBus: Bool, isLockerUp: @escaping () -> Bool,
    defaultClass: @escaping ([String: String]) -> AccessibilityClass, facts: @escaping () -> VaultObject.Facts,
    connected: @escaping (Bus) -> Void
  ) {
    self.loop = loop
    self.vault = vault
    self.address = address
    self.endsWithBus = endsWithBus
    self.isLockerUp = isLockerUp
    self.defaultClass = defaultClass
    self.facts = facts
    self.connected = connected
  }

  /// Connects, now or as soon as there is a bus.
  func connect() {
    do {
      let bus = try Bus(address, loop: loop)
      try bus.onDisconnect { [weak self] in self?.lost() }
      service = try SecretService(
        bus: bus, loop: loop, vault: vault, isLockerUp: isLockerUp, defaultClass: defaultClass)
      object = try VaultObject(bus: bus, facts: facts)
      self.bus = bus
      connected(bus)
      try watchName(bus)
      requestName()
    } catch {
      lost()
    }
  }

  private func lost() {
    // Without a service manager the bus is all that ties the daemon to its session.
    if hasConnected && endsWithBus { return loop.exit() }
    (nameWatch, service, object, bus) = (nil, nil, nil, nil)
    nameOwner = "nobody"
    // A login brings the bus up a moment after the daemon; later there is no hurry.
    retry = try? loop.addTimer(after: retryDelay) { [weak self] in self?.connect() }
    retryDelay = min(retryDelay * 2, .seconds(30))
  }

  private func watchName(_ bus: Bus) throws {
    nameWatch = try bus.matchSignal(
      sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
      member: "NameOwnerChanged", arg0: SecretService.busName
    ) { [weak self] (message: Message) throws(BusError) in
      _ = try message.readString()
      _ = try message.readString()
      let owner = try message.readString()
      guard let self, owner != self.bus?.uniqueName else { return }
      if owner.isEmpty { requestName() } else { nameOwner = owner }
    }
  }

  private func requestName() {
    try? bus?.requestNameAsync(SecretService.busName) { [weak self] result in
      guard let self else { return }
      // Also where another program has the name there was a bus, and the daemon is tied to that.
      if case .success = result {
        hasConnected = true
        retryDelay = .milliseconds(250)
      }
      switch result {
      case .success(.owned), .success(.alreadyOwned):
        nameOwner = "latchkeyd"
        service?.stateChanged()
      case .success: nameIsTaken()
      case .failure(let error): Journal.log(.warning, "the bus did not give \(SecretService.busName): \(error)")
      }
    }
  }

  /// Another provider of secrets was faster. It is told once; the name is taken when it becomes free.
  private func nameIsTaken() {
    try? bus?.nameOwner(of: SecretService.busName) { [weak self] result in
      guard let self, case .success(let owner?) = result else { return }
      nameOwner = owner
      guard !saidThatNameIsTaken else { return }
      saidThatNameIsTaken = true
      Journal.log(
        .warning,
        """
        another program (\(owner)) owns \(SecretService.busName), so applications keep their secrets there; stop it and \
        Latchkey takes over
        """)
    }
  }

  /// Tells clients what is different now.
  func stateChanged() {
    service?.stateChanged()
    object?.changed(to: facts())
  }

  /// Starts or stops a unit of the user's service manager, which may need a moment before it is on the bus. Without one,
  /// nothing happens.
  func manage(_ operation: UnitOperation, _ unit: String) {
    unitRetry = nil
    manage(operation, unit, triesLeft: 40)
  }

  private func manage(_ operation: UnitOperation, _ unit: String, triesLeft: Int) {
    guard let bus, bus.isOpen else { return retryUnit(operation, unit, triesLeft) }
    do {
      try bus.callAsync(
        destination: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
        interface: "org.freedesktop.systemd1.Manager", member: operation.rawValue, autoStart: false
      ) { (out: inout MessageWriter) throws(BusError) in
        try out.appendString(unit)
        try out.appendString("replace")
      } reply: { [weak self] reply in
        if case .failure = reply { self?.retryUnit(operation, unit, triesLeft) }
      }
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
