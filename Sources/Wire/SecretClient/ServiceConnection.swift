import Glibc
import LatchkeySodium
import LatchkeySystemd

/// A client's connection to the vault by the session bus. It has its own bus connection and event loop, which share nothing with
/// the rest of the process. Each call waits for its answer. Use it from one thread at a time.
public final class ServiceConnection {
  /// The well-known name.
  public static let name = "org.freedesktop.secrets"
  /// The object of the whole service.
  public static let root = "/org/freedesktop/secrets"
  /// The collection that the alias `default` names.
  public static let defaultCollection = root + "/aliases/default"
  /// The interface of the service object.
  public static let service = "org.freedesktop.Secret.Service"
  /// The interface of collections.
  public static let collection = "org.freedesktop.Secret.Collection"
  /// Latchkey's own interface of collections, for calls that the specification does not have.
  public static let ownCollection = "org.latchkey.Collection"
  /// The interface of items.
  public static let item = "org.freedesktop.Secret.Item"
  /// Latchkey's own interface of items.
  public static let itemAccess = "org.latchkey.Item"
  /// The interface of prompts.
  public static let prompt = "org.freedesktop.Secret.Prompt"
  /// Latchkey's own interface of prompts, which takes a reason and tells how a prompt ended.
  public static let toldPrompt = "org.latchkey.Prompt"
  /// The interface for many items in one call.
  public static let keychain = "org.latchkey.Keychain"
  /// The path that means "no object" or "no prompt needed".
  public static let none = "/"
  private static let vault = "/org/latchkey/vault"
  private static let vaultInterface = "org.latchkey.Vault"

  /// The event loop that serves the bus while a call waits.
  public let loop: EventLoop
  /// The connection itself.
  public let bus: Bus
  /// The vault's unique name. A program that takes the well-known name later gets nothing.
  public private(set) var owner = ""
  /// The credentials of the owner.
  private var ownerCredentials: PeerCredentials?
  /// The interval, in milliseconds, at which a waiting call checks whether latchkeyd is stopped.
  private static let lookInterval = 2000
  /// Whether the connection to the bus was lost.
  public private(set) var isLost = false
  /// The vault's state when the connection was made: "sealed", "unlocked" or "locked".
  public private(set) var stateAtStart = ""

  /// Connects, and lets the session bus start the vault if it does not run.
  public convenience init() throws(ConnectionFailure) {
    try self.init(provider: Self.name, on: .session)
    do throws(BusError) { stateAtStart = try vaultState() } catch {
      if error.isStandard("Disconnected") || error.isStandard("NoReply") { throw .broken(error) }
      throw .otherService
    }
  }

  /// Connects to any provider of secrets. If it does not run, the bus starts it.
  ///
  /// - Parameter name: the name that the provider owns on this bus.
  public init(provider name: String, on address: Bus.Address) throws(ConnectionFailure) {
    do {
      loop = try EventLoop()
      bus = try Bus(address, loop: loop)
      try bus.onDisconnect { [unowned self] in isLost = true }
    } catch { throw .noBus }
    owner = try findOwner(name)
  }

  /// The program at the other end.
  public var ownerProcess: pid_t? { ownerCredentials?.pid }

  private func findOwner(_ name: String) throws(ConnectionFailure) -> String {
    let found: String
    do throws(BusError) {
      let ask = { () throws(BusError) in
        try self.wait { done throws(BusError) in try self.bus.nameOwner(of: name, completion: done) }
      }
      if let running = try ask() {
        found = running
      } else {
        try wait { done throws(BusError) in try self.bus.startService(name, completion: done) }
        guard let started = try ask() else { throw .failed("it ended at once") }
        found = started
      }
    } catch { throw .notRunning }
    let peer: PeerCredentials
    do throws(BusError) {
      peer = try wait { done throws(BusError) in try self.bus.peerCredentials(of: found, completion: done) }
    } catch { throw .broken(error) }
    guard peer.uid == getuid() || peer.uid == 0 else { throw .stranger }
    ownerCredentials = peer
    return found
  }

  /// The vault's state: "sealed", "unlocked" or "locked". Only Latchkey has this property.
  public func vaultState() throws(BusError) -> String {
    try get("State", .text, of: Self.vault, on: Self.vaultInterface)
  }

  /// Calls `body` with each new state of the vault, for as long as the result exists.
  public func watchState(_ body: @escaping (String) -> Void) throws(SystemdError) -> BusSlot {
    try bus.matchSignal(
      sender: owner, path: Self.vault, interface: Bus.properties, member: "PropertiesChanged"
    ) { (message: Message) throws(BusError) in
      guard try message.readString() == Self.vaultInterface else { return }
      try message.readDictionary("sv") { (entry: Message) throws(BusError) in
        guard try entry.readString() == "State" else { return try entry.skip() }
        body(try entry.readVariant(.text))
      }
    }
  }

  // MARK: - calls

  /// Calls a method, and reads the answer.
  ///
  /// - Parameter timeout: the time limit. If it is nil, the bus's own limit applies, which is too short for a person's answer.
  public func call<Value>(
    _ path: String, _ interface: String, _ member: String, timeout: Duration? = nil,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in },
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let answer = try wait { done throws(BusError) in
      try self.bus.callAsync(
        destination: self.owner, path: path, interface: interface, member: member, timeout: timeout, sensitive: true,
        autoStart: false, takesDetail: true, build: build, reply: done)
    }
    return try read(answer)
  }

  /// One property of an object. If no interface is given, the object is an item.
  public func get<Value>(
    _ property: String, _ type: BusValue<Value>, of path: String, on interface: String = item
  ) throws(BusError) -> Value {
    try call(path, Bus.properties, "Get") {
      $0.appendString(interface)
      $0.appendString(property)
    } read: { (answer: Message) throws(BusError) in
      try answer.readVariant(type)
    }
  }

  /// The properties of an item that every provider of secrets has.
  public func facts(ofItem path: String) throws(BusError) -> ItemFacts {
    var facts = ItemFacts()
    try properties(of: path, Self.item) { (name, entry) throws(BusError) in try facts.take(name, entry) }
    return facts
  }

  /// Reads all properties of an object. `read` gets the name, and reads or skips the value.
  public func properties(
    of path: String, _ interface: String, _ read: (String, Message) throws(BusError) -> Void
  ) throws(BusError) {
    try call(path, Bus.properties, "GetAll") {
      $0.appendString(interface)
    } read: { (answer: Message) throws(BusError) in
      try answer.readDictionary("sv") { (entry: Message) throws(BusError) in try read(try entry.readString(), entry) }
    }
  }

  /// Sets a property of an object. If no interface is given, the object is an item.
  public func set(
    _ property: String, of path: String, on interface: String = item, _ signature: String,
    _ build: (inout MessageWriter) -> Void
  ) throws(BusError) {
    try call(path, Bus.properties, "Set") { out in
      out.appendString(interface)
      out.appendString(property)
      out.appendVariant(signature, build)
    } read: { _ in
    }
  }

  /// Gives an item another label, other attributes, another secret or several of these, in one step. If a value is nil, the item
  /// keeps its own.
  public func update(
    _ path: String, label: String?, attributes: [String: String]? = nil, secret: Secret?, by channel: SecretChannel
  ) throws(BusError) {
    let sent: Secret
    // The message must have a secret. If the secret stays, this sends an empty one.
    do { sent = try secret ?? Secret(SecureBytes(count: 0)) } catch { throw .failed("no memory") }
    try call(Self.root, Self.keychain, "Update") { out throws(BusError) in
      out.open("a", "(oa{sv}a{ss})")
      out.open("r", "oa{sv}a{ss}")
      out.appendObjectPath(path)
      out.appendItemProperties(label: label, attributes: attributes)
      out.appendStringDictionary([:])
      out.close()
      out.close()
      out.appendBool(secret != nil)
      try channel.write(sent, to: &out)
    } read: { _ in
    }
  }

  private func wait<Value>(
    _ begin: (@escaping (Result<Value, BusError>) -> Void) throws(BusError) -> Void
  ) throws(BusError) -> Value {
    var answer: Result<Value, BusError>?
    try begin { answer = $0 }
    while true {
      try serve(for: Self.lookInterval) { answer != nil }
      if let answer { return try answer.get() }
      // If the service is stopped, nobody should wait for the bus's timeout. The service may still do the request when it runs
      // again.
      if ownerCredentials?.isStopped == true { throw Self.isStopped }
    }
  }

  /// Serves the bus until `isDone` returns true, at most for `milliseconds`.
  public func serve(for milliseconds: Int? = nil, until isDone: () -> Bool) throws(BusError) {
    let end = milliseconds.map { SuspendingClock.now + .milliseconds($0) }
    while !isDone() {
      if isLost { throw .disconnected("the session bus is gone") }
      let rest = end.map { SuspendingClock.now.duration(to: $0) }
      if let rest, rest <= .zero { return }
      do { try loop.runOnce(timeout: rest) } catch { throw .failed(error.description) }
    }
  }

  /// Serves the bus until `isDone` returns true, without a time limit, because a person may need long. Throws if the daemon is
  /// stopped.
  public func serveForPerson(until isDone: () -> Bool) throws(BusError) {
    var looks = 0
    while true {
      try serve(for: Self.lookInterval, until: isDone)
      guard !isDone() else { return }
      // A debugger or a profiler may stop the daemon for a moment, so only two such looks in a row count.
      looks = ownerCredentials?.isStopped == true ? looks + 1 : 0
      if looks == 2 { throw Self.isStopped }
    }
  }

  private static let isStopped = BusError.noReply("latchkeyd is stopped")

  /// Reads the messages that came since the last call, so that this program notices the end of the bus before it sends something.
  public func catchUp() throws(BusError) {
    do { while !isLost, try loop.runOnce(timeout: .zero) {} } catch { throw .failed(error.description) }
  }
}

extension BusError {
  /// Whether the call failed because something is locked.
  public var isLocked: Bool { name == BusError.lockedName }
  /// The name of the error for a locked object.
  public static let lockedName = "org.freedesktop.Secret.Error.IsLocked"
  /// Whether there is no object at the path. In other providers, the bus library gives the answer, which has another name.
  public var isNoSuchObject: Bool {
    name == "org.freedesktop.Secret.Error.NoSuchObject" || isStandard("UnknownObject")
  }
}
