import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// The command line's connection to the vault. It is a usual client's connection, with messages and questions to the person.
final class VaultConnection {
  static let root = ServiceConnection.root
  static let service = ServiceConnection.service
  static let collection = ServiceConnection.collection
  static let item = ServiceConnection.item
  static let itemAccess = ServiceConnection.itemAccess
  /// "No object", and "no prompt needed".
  static let none = ServiceConnection.none

  let connection: ServiceConnection
  private let place: DaemonPlace
  /// The outcome of the last prompt; nil if the vault's program does not report it.
  private(set) var lastOutcome: PromptOutcome?
  /// The channel for trying whether a secret can be read.
  private var trial: SecretChannel?

  /// Connects, and lets the session bus start the vault if it does not run.
  ///
  /// - Parameter place: the place of the daemon, which says why the vault is locked.
  init(_ place: DaemonPlace) throws {
    self.place = place
    do throws(ConnectionFailure) { connection = try ServiceConnection() } catch {
      if case .broken(let broken) = error { throw broken }
      throw Failure(error)
    }
  }

  /// Connects to any program that keeps secrets.
  ///
  /// - Parameter name: the name that the program owns on that bus.
  init(provider name: String, on address: Bus.Address, _ place: DaemonPlace) throws(ConnectionFailure) {
    self.place = place
    connection = try ServiceConnection(provider: name, on: address)
  }

  /// The program at the other end.
  var ownerProcess: pid_t? { connection.ownerProcess }

  /// "sealed", "unlocked" or "locked", when the connection was made.
  var state: String { connection.stateAtStart }

  /// How secrets travel.
  func openChannel() throws(BusError) -> SecretChannel { try SecretChannel(connection) }

  // MARK: - calls

  /// Calls, and reads the answer.
  func call<Value>(
    _ path: String, _ interface: String, _ member: String,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in },
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    try connection.call(path, interface, member, build: build, read: read)
  }

  /// Every property of an object; `read` is given the name, and reads or skips the value.
  func properties(
    of path: String, _ interface: String, _ read: (String, Message) throws(BusError) -> Void
  ) throws(BusError) {
    try connection.properties(of: path, interface, read)
  }

  /// The number of a collection of ours, which leads to it for ever.
  func number(ofCollection path: String) throws(BusError) -> UInt64 {
    try connection.get("Number", .number, of: path, on: ServiceConnection.ownCollection)
  }

  /// The properties of an item that every provider of secrets has.
  func facts(ofItem path: String) throws(BusError) -> ItemFacts {
    try connection.facts(ofItem: path)
  }

  /// Sets a property; without `interface`, one of the item's interface.
  func set(
    _ property: String, of path: String, on interface: String = item, _ signature: String,
    _ build: (inout MessageWriter) -> Void
  ) throws(BusError) {
    try connection.set(property, of: path, on: interface, signature, build)
  }

  /// The paths of the items that have these attributes; of all items without attributes.
  func search(_ attributes: [String: String]) throws(BusError) -> [String] {
    try call(Self.root, Self.service, "SearchItems") {
      $0.appendStringDictionary(attributes)
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPaths() + answer.readObjectPaths()
    }
  }

  // MARK: - locked

  /// Runs work that needs `path` unlocked. If it is locked, a person is asked to unlock it.
  func opening<Value>(_ path: String, asking: Bool, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as BusError where error.isLocked {
      guard asking else { throw error.lacksVault ? error : locked(path) }
      let wasAsked = try unlock(path)
      do { return try body() } catch let error as BusError where error.isLocked {
        // No prompt helped, and the vault has advice.
        if error.lacksVault, [nil, .unavailable].contains(lastOutcome) { throw error }
        guard wasAsked else { throw locked(path) }
        // There was no question, because no answer would unlock the item.
        if let reason = error.reason, case .noFingerOpensIt = reason {
          throw Failure.stillLocked(translated("it is locked: \(reason.told)."))
        }
        throw Failure.stillLocked(
          translated("it is still locked: \(PromptOutcome.words(lastOutcome)).") + "\n" + adviceAfterPrompt(on: path))
      }
    }
  }

  private func adviceAfterPrompt(on path: String) -> String {
    if lastOutcome == .full { return translated("Free some space, then run this again.") }
    if lockReason() != nil { return translated("Run 'latchkey unlock', then this again.") }
    switch lastOutcome {
    case .paused: return translated("Run this again after that.")
    case .refused:
      guard requirement(of: path)?.contains(text: "application-password") == true else {
        return translated("Run this again.")
      }
      return translated("Run this again. If you forgot the item's own passphrase, nobody can recover its secret.")
    default: return advice(on: path)
    }
  }

  /// Advice for an item or a collection that is locked in an unlocked vault.
  private func advice(on path: String) -> String {
    if let require = requirement(of: path) {
      if let problem = FingerRequirement.problem(for: require) {
        return translated("The item requires \(require) each time that it is read. \(problem)")
      }
      return translated(
        """
        The item requires \(require) each time that it is read, so 'latchkey unlock' does not open it. Run this again, and \
        answer the prompt. If no desktop can show the prompt, run this in a terminal.
        """)
    }
    return translated(
      """
      Run this again, and answer the prompt. If the item's collection is locked, 'latchkey unlock' (with --collection, if \
      it has a passphrase of its own) asks on the terminal.
      """)
  }

  /// The condition of an item beyond an unlocked session; nil without a condition, and for a collection.
  private func requirement(of path: String) -> String? {
    guard let require = (try? ListedItem(path, from: self))?.require, !require.isEmpty else { return nil }
    return require
  }

  private func locked(_ path: String) -> Failure {
    if let reason = lockReason() { return .locked(reason) }
    if let require = requirement(of: path) {
      if let problem = FingerRequirement.problem(for: require) {
        return .stillLocked(translated("it requires \(require) each time that it is read. \(problem)"))
      }
      return .stillLocked(
        translated(
          "it requires \(require) each time that it is read. Run this again without --no-prompt, and answer the prompt."
        ))
    }
    let words = path.split(separator: "/")
    let owner = words.count > ListedCollection.depth ? "/" + words.dropLast().joined(separator: "/") : path
    if let home = try? ListedCollection(owner, from: self), home.isLocked {
      return .stillLocked(
        translated(
          """
          its collection '\(home.title)' is locked, or waits for its passphrase.
          If the collection has a passphrase, run 'latchkey unlock --collection \(home.name)', otherwise 'latchkey \
          unlock'. Then run this again.
          """))
    }
    return .stillLocked(
      translated(
        """
        it was locked explicitly, or its collection was.
        Run 'latchkey unlock' (with --collection, if it has a passphrase of its own), then this again.
        """))
  }

  /// Why everything is locked, for a person; nil while the vault is unlocked.
  func lockReason() -> String? {
    guard state != "unlocked" else { return nil }
    // The vault's state counts if the vault gives no reason.
    let status = try? place.connect().ask(GetStatus(), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
    guard let status, !status.lockReasons.isEmpty else {
      return StatusCommand.state(state == "sealed" ? .sealed : .locked)
    }
    return StatusCommand.lockReasons(status).joined(separator: ", ")
  }

  /// Why the secret of an item cannot be read, in the vault's words, also while nothing is locked. Only a try shows that. If it is
  /// readable by now, its secret comes encrypted and stays unread.
  func obstacle(to path: String) -> BusError {
    do {
      try Sodium.initialize()
      let channel = try trial ?? openChannel()
      trial = channel
      try call(path, Self.item, "GetSecret") {
        $0.appendObjectPath(channel.path)
      } read: { _ in
      }
    } catch let error as BusError { return error } catch {}
    return BusError(
      name: BusError.lockedName, message: translated("it cannot be opened here; 'latchkey get' says why"))
  }

  /// Asks the vault to unlock `path`. A failure shows in the caller's next step.
  ///
  /// - Returns: whether the unlock needed a person.
  @discardableResult
  func unlock(_ path: String) throws -> Bool { try unlock([path]) }

  /// Asks the vault to unlock several paths, with one prompt. `reason` is the reason in the prompt.
  @discardableResult
  func unlock(_ paths: [String], reason: String? = nil) throws -> Bool {
    let prompt = try call(Self.root, Self.service, "Unlock") {
      $0.appendObjectPaths(paths)
    } read: { (answer: Message) throws(BusError) in
      _ = try answer.readObjectPaths()
      return try answer.readObjectPath()
    }
    if prompt != Self.none { try perform(prompt, reason: reason) }
    return prompt != Self.none
  }

  /// Waits for a person. A signal that would end this program withdraws the question first.
  ///
  /// - Returns: the path of the new object, if the prompt created one; nil for everything else, and if the person declined.
  @discardableResult
  func perform(_ prompt: String, reason: String? = nil) throws -> String? {
    var isCompleted = false
    var made: String?
    var isGone = false
    var arrived: Int32?
    let terminal = OwnTerminal()
    let signals = InterruptingSignals()
    defer {
      terminal?.restore()
      signals.release()
    }
    let sources = try signals.numbers.map { number in try connection.loop.addSignal(number) { arrived = number } }
    let watch = try connection.bus.watchPeer(connection.owner) { isGone = true }
    lastOutcome = nil
    let told = try connection.bus.matchSignal(
      sender: connection.owner, path: prompt, interface: ServiceConnection.toldPrompt, member: "Ended"
    ) { [self] message in
      lastOutcome = (try? message.readString()).flatMap { PromptOutcome(rawValue: $0) }
    }
    let slot = try connection.bus.matchSignal(
      sender: connection.owner, path: prompt, interface: ServiceConnection.prompt, member: "Completed"
    ) { message in
      isCompleted = true
      made = try? message.readMadeObject()
    }
    return try withExtendedLifetime((sources, watch, told, slot)) {
      // There is no window, because the vault finds the terminal by itself. Only Latchkey has a state, and says how a prompt ended.
      if state.isEmpty {
        try call(prompt, ServiceConnection.prompt, "Prompt") {
          $0.appendString("")
        } read: { _ in
        }
      } else {
        try call(prompt, ServiceConnection.toldPrompt, "Prompt") {
          $0.appendDictionary("sv") { all in
            guard let reason else { return }
            all.appendProperty("reason", "s") { $0.appendString(reason) }
          }
        } read: { _ in
        }
      }
      try connection.serveForPerson { isCompleted || isGone || arrived != nil }
      guard let number = arrived else {
        if isGone { throw BusError.disconnected(translated("the vault is gone")) }
        return made
      }
      try? call(prompt, ServiceConnection.prompt, "Dismiss") { _ in }
      try? connection.serve(for: 2000) { isCompleted || isGone }
      terminal?.restore()
      signals.release()
      raise(number)
      throw Failure.cancelled
    }
  }
}

extension BusError {
  /// Whether something is locked only because there is no vault.
  fileprivate var lacksVault: Bool { reason?.isLackOfVault == true || reason == .vault(.systemAccount) }
}

/// The signals that end a program which waits, unless its starter had them ignored.
private struct InterruptingSignals {
  let numbers: [Int32]

  init() {
    numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { number in
      var action = sigaction()
      sigaction(number, nil, &action)
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }

  /// Unblocks the signals that the event loop holds.
  func release() {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}

extension Message {
  /// Reads `Completed` of a prompt for something new.
  fileprivate func readMadeObject() throws(BusError) -> String? {
    let isDismissed = try readBool()
    let path = try readVariant(.path)
    return isDismissed ? nil : path
  }
}
