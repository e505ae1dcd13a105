import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// News of the vault.
enum VaultNews: Sendable {
  /// "sealed", "unlocked" or "locked".
  case state(String)
  /// The connection has ended, or could not be made.
  case gone(Problem)
  /// Items came, went or changed.
  case items
  /// Collections came, went or changed.
  case collections
}

/// One thread's connection to the vault, the same as any client's. Each call waits for its answer.
final class VaultLink {
  private var connection: ServiceConnection?
  private var channel: SecretChannel?
  private var slots: [BusSlot] = []
  private var bell: EventSource?
  private var hasRung = false
  private var isGone = false
  private let listener: (@Sendable (VaultNews) -> Void)?
  private let ear: Int32

  private static let root = ServiceConnection.root

  /// - Parameters:
  ///   - ear: a descriptor that becomes readable when there is work for the thread.
  ///   - listener: gets the news of the vault; nil for a thread that needs no news.
  init(ear: Int32, listener: (@Sendable (VaultNews) -> Void)?) { (self.ear, self.listener) = (ear, listener) }

  // MARK: The connection

  /// The connection. If there is none, or the daemon has ended, this makes a new one.
  private func connected() throws(Problem) -> ServiceConnection {
    if let connection, !connection.isLost, !isGone { return connection }
    disconnect()
    let new: ServiceConnection
    do throws(ConnectionFailure) { new = try ServiceConnection() } catch { throw Problem(error) }
    isGone = false
    do {
      slots = [try new.bus.watchPeer(new.owner) { [unowned self] in isGone = true }]
      if listener != nil { slots += try watches(of: new) }
      bell = try new.loop.addIO(fd: ear, events: .readable) { [unowned self] _ in
        hasRung = true
        // The pipe stays readable until the thread takes the work. Without this pause, a call that waits meanwhile would wake up
        // again and again.
        bell?.pause()
      }
    } catch { throw Problem(error.description) }
    connection = new
    listener?(.state(new.stateAtStart))
    return new
  }

  private func disconnect() {
    bell = nil
    slots = []
    channel = nil
    connection = nil
  }

  private func watches(of new: ServiceConnection) throws(SystemdError) -> [BusSlot] {
    [
      try new.watchState { [unowned self] state in listener?(.state(state)) },
      try new.bus.matchSignal(sender: new.owner, interface: ServiceConnection.collection) { [unowned self] _ in
        listener?(.items)
      },
      try new.bus.matchSignal(sender: new.owner, path: Self.root, interface: ServiceConnection.service) {
        [unowned self] _ in listener?(.collections)
      },
    ]
  }

  /// Waits until there is work, and meanwhile passes on news of the vault.
  func rest() {
    hasRung = false
    bell?.resume()
    guard listener != nil || connection != nil else { return sleep(-1) }
    do throws(Problem) {
      let connection = try connected()
      do throws(BusError) {
        try connection.serve { hasRung || isGone }
      } catch { isGone = true }
      guard isGone else { return }
      disconnect()
      listener?(.gone(Problem(.disconnected(""))))
      // The service manager needs a moment to notice the daemon's end.
      sleep(1000)
    } catch {
      listener?(.gone(error))
      sleep(2000)
    }
  }

  private func sleep(_ milliseconds: Int32) {
    var watched = pollfd(fd: ear, events: Int16(POLLIN), revents: 0)
    poll(&watched, 1, milliseconds)
  }

  private func call<Value>(
    _ path: String, _ interface: String, _ member: String,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in }, read: (Message) throws(BusError) -> Value
  ) throws(Problem) -> Value {
    let connection = try connected()
    do throws(BusError) { return try connection.call(path, interface, member, build: build, read: read) } catch {
      throw problem(error)
    }
  }

  /// The failed call in words. If the daemon did not answer, the next call makes a new connection.
  private func problem(_ error: BusError) -> Problem {
    if error.isStandard("NoReply") { isGone = true }
    return Problem(error)
  }

  // MARK: Reading

  private func get<Value>(
    _ property: String, _ type: BusValue<Value>, of path: String, on interface: String
  ) throws(Problem) -> Value {
    let connection = try connected()
    do throws(BusError) { return try connection.get(property, type, of: path, on: interface) } catch {
      throw problem(error)
    }
  }

  private func collectionPaths() throws(Problem) -> [String] {
    try get("Collections", .paths, of: Self.root, on: ServiceConnection.service)
  }

  /// Every collection. The session's collection is left out if it is empty.
  func collections() throws(Problem) -> [ShownCollection] {
    var found: [ShownCollection] = []
    for path in try collectionPaths() {
      // This reads two properties only, because another property is the list of all items.
      let label = try get("Label", .text, of: path, on: ServiceConnection.collection)
      let isLocked = try get("Locked", .flag, of: path, on: ServiceConnection.collection)
      if path.hasSuffix("/session"), try search(path, [], from: 0, limit: 1).items.isEmpty { continue }
      found.append(ShownCollection(path: path, label: label, isLocked: isLocked))
    }
    return found
  }

  /// The result of one step of a search.
  struct FoundPage: Sendable {
    /// Numbers, the newest first.
    let items: [UInt64]
    /// The number from which the next step goes on; 0 at the end.
    let next: UInt64
    /// How many items have labels that cannot be read now.
    let unread: Int
  }

  /// One step of a search for words in a collection. Without words the step finds all items. With a limit of 0 it finds none, but
  /// the vault prepares its items for later searches.
  func search(_ path: String, _ words: [String], from: UInt64, limit: UInt32) throws(Problem) -> FoundPage {
    try call(path, ServiceConnection.ownCollection, "Search") {
      $0.appendStrings(words)
      $0.appendUInt64(from)
      $0.appendUInt32(limit)
    } read: { (answer: Message) throws(BusError) in
      let items = try answer.readArray("t") { (item: Message) throws(BusError) in try item.readUInt64() }
      return FoundPage(items: items, next: try answer.readUInt64(), unread: Int(try answer.readUInt32()))
    }
  }

  /// Some items, without their secrets. Items that no longer exist are left out.
  func describe(_ paths: [String]) throws(Problem) -> [ShownItem] {
    let connection = try connected()
    var found: [ShownItem] = []
    var answers = 0
    var failure: BusError?
    do throws(BusError) {
      for path in paths {
        try connection.bus.callAsync(
          destination: connection.owner, path: path, interface: Bus.properties, member: "GetAll", autoStart: false
        ) {
          $0.appendString("")
        } reply: { reply in
          answers += 1
          do throws(BusError) { found.append(try ShownItem(path: path, from: try reply.get())) } catch {
            if !error.isNoSuchObject { failure = error }
          }
        }
      }
      try connection.serve { answers == paths.count || isGone }
    } catch { throw problem(error) }
    if isGone { throw Problem(.disconnected("")) }
    // One damaged item must not hide the others.
    if let failure, found.isEmpty { throw problem(failure) }
    return found
  }

  /// The vault's status, from its control socket.
  func status() throws(Problem) -> Status {
    try control { client throws(ControlError) in try client.ask(GetStatus(), until: Process.now + 5000) }
  }

  /// Asks on the control socket.
  func control<Answer>(_ body: (borrowing ControlClient) throws(ControlError) -> Answer) throws(Problem) -> Answer {
    let set = Process.environment["XDG_RUNTIME_DIR"] ?? ""
    let runtime = set.hasPrefix("/") ? set : ControlSocket.runtimeFolder(uid: getuid())
    do throws(ControlError) { return try body(try ControlClient(runtime: runtime, uid: getuid())) } catch {
      throw Problem(error)
    }
  }

  // MARK: With a person

  /// Reads a secret. If the item requires it, the vault asks the person first.
  func secret(of path: String) throws(Problem) -> Secret {
    do throws(BusError) { return try readSecret(of: path) } catch {
      guard error.isLocked else { throw problem(error) }
      let outcome = try unlock([path])
      do throws(BusError) { return try readSecret(of: path) } catch {
        throw Self.problem(outcome) ?? problem(error)
      }
    }
  }

  private func readSecret(of path: String) throws(BusError) -> Secret {
    let connection: ServiceConnection
    do throws(Problem) { connection = try connected() } catch { throw .failed(error.text) }
    let way: SecretChannel
    if let channel { way = channel } else { way = try SecretChannel(connection) }
    channel = way
    return try connection.call(path, ServiceConnection.item, "GetSecret") {
      $0.appendObjectPath(way.path)
    } read: { (answer: Message) throws(BusError) in
      try way.read(from: answer)
    }
  }

  private static func problem(_ outcome: PromptOutcome?) -> Problem? {
    switch outcome {
    case nil, .accepted: nil
    case .dismissed: Problem(translated("You declined."))
    case .refused: Problem(translated("That was not right. Try again."))
    case .paused: Problem(translated("There were too many wrong answers. Try again in half a minute."))
    case .unavailable:
      Problem(translated("Nobody could be asked. The page Health says what is missing."), page: .health)
    case .expired: Problem(translated("Nobody answered in time. Try again."))
    case .fingers: Problem(translated("Other fingers are enrolled than the item requires."))
    case .withdrawn: Problem(translated("The vault was locked meanwhile."))
    case .full: Problem(translated("The disk is full. Free some space, then try again."))
    case .duplicate: Problem(translated("Another item has the same name."))
    }
  }

  /// Has the vault unlock items or collections.
  ///
  /// - Returns: how the vault's prompt ended; nil if no prompt was needed.
  @discardableResult
  func unlock(_ paths: [String]) throws(Problem) -> PromptOutcome? {
    let prompt = try call(Self.root, ServiceConnection.service, "Unlock") {
      $0.appendObjectPaths(paths)
    } read: { (answer: Message) throws(BusError) in
      _ = try answer.readObjectPaths()
      return try answer.readObjectPath()
    }
    return try perform(prompt)
  }

  /// Unlocks the whole vault.
  func unlockVault() throws(Problem) {
    let outcome = try unlock(try collectionPaths())
    if let problem = Self.problem(outcome) { throw problem }
  }

  private func perform(_ prompt: String) throws(Problem) -> PromptOutcome? {
    guard prompt != ServiceConnection.none else { return nil }
    let connection = try connected()
    var outcome: PromptOutcome?
    var isCompleted = false
    do {
      let told = try connection.bus.matchSignal(
        sender: connection.owner, path: prompt, interface: ServiceConnection.toldPrompt, member: "Ended"
      ) { message in outcome = (try? message.readString()).flatMap { PromptOutcome(rawValue: $0) } }
      let slot = try connection.bus.matchSignal(
        sender: connection.owner, path: prompt, interface: ServiceConnection.prompt, member: "Completed"
      ) { _ in isCompleted = true }
      try withExtendedLifetime((told, slot)) { () throws(BusError) in
        try connection.call(prompt, ServiceConnection.toldPrompt, "Prompt") {
          $0.appendDictionary("sv") { _ in }
        } read: { _ in
        }
        try connection.serveForPerson { isCompleted || isGone }
      }
    } catch let error as BusError { throw problem(error) } catch { throw Problem("\(error)") }
    if isGone { throw Problem(.disconnected("")) }
    return outcome
  }

  /// Changes the class of an item, or its requirements.
  func setAccess(_ path: String, accessible: String?, require: String?) throws(Problem) {
    let prompt = try call(path, ServiceConnection.itemAccess, "SetAccess") {
      $0.appendDictionary("sv") { all in
        for (name, value) in [("accessible", accessible), ("require", require)] {
          guard let value else { continue }
          all.appendProperty(name, "s") { $0.appendString(value) }
        }
      }
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPath()
    }
    if let problem = Self.problem(try perform(prompt)) { throw problem }
  }

  /// Deletes an item.
  func delete(_ path: String) throws(Problem) {
    let prompt = try call(path, ServiceConnection.item, "Delete") { (answer: Message) throws(BusError) in
      try answer.readObjectPath()
    }
    if let problem = Self.problem(try perform(prompt)) { throw problem }
  }
}
