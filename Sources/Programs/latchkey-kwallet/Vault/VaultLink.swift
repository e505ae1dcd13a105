import LatchkeySecretClient
import LatchkeySystemd

/// The connection to the vault. If the daemon has ended, the next call makes a new connection.
final class VaultLink {
  private let loop: EventLoop
  private let jobs: Jobs
  private var connection: ServiceConnection?
  private var channel: SecretChannel?
  private var readable: EventSource?
  private var watches: [BusSlot] = []
  /// Whether the daemon at the other end has ended.
  private var isGone = false
  private var prompts: [UInt64: AwaitedPrompt] = [:]
  private var lastPrompt: UInt64 = 0
  /// The number of connections so far. Things that an earlier connection told may have changed.
  private(set) var generation = 0
  /// Called when collections came, went or got another label.
  var collectionsChanged: () -> Void = {}
  /// Called with the paths of items that another client of the vault made, changed or deleted.
  var itemsChanged: ([String]) -> Void = { _ in }
  private var changedItems: [String] = []

  /// How a prompt ended.
  enum Ending {
    /// The person agreed. If the prompt created a collection, the value is its path.
    case accepted(String?)
    case dismissed
    case vaultGone
  }

  private struct AwaitedPrompt {
    let path: String
    let slot: BusSlot
    let ended: (Ending) -> Void
  }

  init(loop: EventLoop, jobs: Jobs) { (self.loop, self.jobs) = (loop, jobs) }

  // MARK: - calls

  /// Runs `body` with the connection, and makes a connection first if there is none. If the daemon ended meanwhile, for example
  /// after a crash, `body` runs again with a new connection.
  func with<Value>(
    _ body: (ServiceConnection) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let former = generation
    let wasConnected = connection != nil
    do throws(BusError) { return try body(try connected()) } catch {
      if hasEnded(after: error) {
        guard wasConnected || generation > former else { throw error }
      } else if error.name != Self.noSession {
        throw error
      }
      channel = nil
      return try body(try connected())
    }
  }

  /// Whether a failed call failed because the daemon has ended.
  private func hasEnded(after error: BusError) -> Bool {
    if error.isStandard("ServiceUnknown") || error.isStandard("NameHasNoOwner") || error.isStandard("Disconnected") {
      isGone = true
    } else if error.isStandard("NoReply") {
      // The bus may report the missing answer before the daemon's end, so this waits a moment for the report of the end.
      try? connection?.serve(for: Self.endTime) { isGone }
    }
    drain()
    return connection == nil
  }

  /// How long the bus may take to report the daemon's end, in milliseconds.
  private static let endTime = 200

  /// Runs `body` with the connection and an encrypted session.
  func withChannel<Value>(
    _ body: (ServiceConnection, SecretChannel) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    try with { connection throws(BusError) in
      if let channel { return try body(connection, channel) }
      let new = try SecretChannel(connection)
      channel = new
      return try body(connection, new)
    }
  }

  private static let noSession = "org.freedesktop.Secret.Error.NoSession"

  private func connected() throws(BusError) -> ServiceConnection {
    if let connection { return connection }
    let new: ServiceConnection
    do throws(ConnectionFailure) { new = try ServiceConnection() } catch {
      switch error {
      case .broken(let error): throw error
      case .noBus: throw .disconnected("there is no session bus")
      case .notRunning: throw .failed("the vault does not run, and could not be started")
      case .stranger: throw .accessDenied("another user's program keeps the secrets of this session")
      case .otherService: throw .failed("a program other than Latchkey keeps the secrets of this session")
      }
    }
    do throws(SystemdError) {
      watches = [try new.bus.watchPeer(new.owner) { [weak self] in self?.isGone = true }]
      for member in ["CollectionCreated", "CollectionDeleted"] {
        watches.append(
          try new.bus.matchSignal(sender: new.owner, interface: ServiceConnection.service, member: member) {
            [weak self] _ in
            guard let self else { return }
            jobs.add { [weak self] in self?.collectionsChanged() }
          })
      }
      // CollectionChanged also comes with each change of an item, so this watches the collection's properties.
      watches.append(
        try new.bus.matchSignal(
          sender: new.owner, interface: Bus.properties, member: "PropertiesChanged",
          arg0: ServiceConnection.collection
        ) { [weak self] (message: Message) throws(BusError) in
          _ = try message.readString()
          var hasLabel = false
          try message.readDictionary("sv") { (entry: Message) throws(BusError) in
            if try entry.readString() == "Label" { hasLabel = true }
            try entry.skip()
          }
          guard hasLabel, let self else { return }
          jobs.add { [weak self] in self?.collectionsChanged() }
        })
      try watchItems(new)
      // This event only wakes the main loop. `drain` reads the messages.
      readable = try loop.addIO(fd: new.loop.descriptor, events: .readable) { _ in }
    } catch { throw .failed(error.description) }
    (connection, channel, isGone) = (new, nil, false)
    generation += 1
    return new
  }

  private func watchItems(_ vault: ServiceConnection) throws(SystemdError) {
    for member in ["ItemCreated", "ItemDeleted"] {
      watches.append(
        try vault.bus.matchSignal(sender: vault.owner, interface: ServiceConnection.collection, member: member) {
          [weak self] (message: Message) throws(BusError) in self?.note(changed: try message.readObjectPath())
        })
    }
    // ItemChanged also comes with each lock, so this watches the item's properties.
    watches.append(
      try vault.bus.matchSignal(
        sender: vault.owner, interface: Bus.properties, member: "PropertiesChanged",
        arg0: ServiceConnection.item
      ) { [weak self] (message: Message) throws(BusError) in
        _ = try message.readString()
        var isWritten = false
        try message.readDictionary("sv") { (entry: Message) throws(BusError) in
          if try entry.readString() == "Modified" { isWritten = true }
          try entry.skip()
        }
        if isWritten, let path = message.path { self?.note(changed: path) }
      })
  }

  private func note(changed item: String) {
    if changedItems.isEmpty {
      jobs.add { [weak self] in
        guard let self else { return }
        let items = changedItems
        changedItems = []
        if !items.isEmpty { itemsChanged(items) }
      }
    }
    if !changedItems.contains(item) { changedItems.append(item) }
  }

  /// Called after this program has itself changed items. It announces such a change itself, so this drops the vault's signals about
  /// it. They came before the vault's answer.
  func passOver(_ items: [String]) {
    try? connection?.catchUp()
    let own = Set(items)
    changedItems.removeAll { own.contains($0) }
  }

  /// Reads the vault's messages, and drops the connection if the daemon has ended. A handler of this connection must not call it.
  func drain() {
    guard let connection else { return }
    do throws(BusError) { try connection.catchUp() } catch { isGone = true }
    guard isGone || connection.isLost else { return }
    let unanswered = prompts.values
    (prompts, watches, readable, channel, self.connection) = ([:], [], nil, nil, nil)
    for prompt in unanswered { jobs.add { prompt.ended(.vaultGone) } }
  }

  // MARK: - prompts

  /// Lets the vault ask the person, and reports the prompt's end.
  ///
  /// - Parameters:
  ///   - reason: the purpose, in words for the person.
  ///   - window: the window of the program that waits; empty if it has none.
  /// - Returns: the number by which ``withdraw(_:)`` ends the prompt.
  func perform(
    _ path: String, reason: String, window: String, ended: @escaping (Ending) -> Void
  ) throws(BusError) -> UInt64 {
    lastPrompt += 1
    let number = lastPrompt
    guard let connection else { throw .disconnected("the vault is gone") }
    do throws(SystemdError) {
      let slot = try connection.bus.matchSignal(
        sender: connection.owner, path: path, interface: ServiceConnection.prompt, member: "Completed"
      ) { [weak self] (message: Message) throws(BusError) in
        let isDismissed = try message.readBool()
        var made: String?
        if !isDismissed, try message.peekVariant() == "o" {
          made = try message.readVariant(.path)
        }
        guard let self else { return }
        let ending = isDismissed ? Ending.dismissed : .accepted(made)
        jobs.add { [weak self] in self?.end(number, ending) }
      }
      prompts[number] = AwaitedPrompt(path: path, slot: slot, ended: ended)
    } catch { throw .failed(error.description) }
    do throws(BusError) {
      try connection.call(path, ServiceConnection.toldPrompt, "Prompt") { out throws(BusError) in
        out.appendDictionary("sv") { all in
          for (name, value) in [("reason", reason), ("window", window)] where !value.isEmpty {
            all.appendProperty(name, "s") { $0.appendString(value) }
          }
        }
      } read: { _ in
      }
    } catch {
      prompts[number] = nil
      throw error
    }
    return number
  }

  private func end(_ number: UInt64, _ ending: Ending) { prompts.removeValue(forKey: number)?.ended(ending) }

  /// Ends a prompt whose answer is no longer needed.
  func withdraw(_ number: UInt64) {
    guard let prompt = prompts.removeValue(forKey: number), let connection else { return }
    _ = try? connection.call(prompt.path, ServiceConnection.prompt, "Dismiss") { _ in
    }
  }
}
