import Control
import Foundation
import Posix
import Systemd

/// A connection to the vault by the session bus, as every program has one that keeps secrets. Each call waits for its
/// answer.
final class VaultConnection {
  static let name = "org.freedesktop.secrets"
  static let root = "/org/freedesktop/secrets"
  static let service = "org.freedesktop.Secret.Service"
  static let collection = "org.freedesktop.Secret.Collection"
  static let item = "org.freedesktop.Secret.Item"
  static let itemAccess = "org.latchkey.Item"
  private static let prompt = "org.freedesktop.Secret.Prompt"
  private static let properties = "org.freedesktop.DBus.Properties"
  /// "No object", and "no prompt needed".
  static let none = "/"

  private let loop: EventLoop
  private let bus: Bus
  /// The vault's unique name: whoever takes the well-known one later is told nothing.
  private var owner = ""
  private var isLost = false
  private let place: Place
  /// "sealed", "unlocked" or "locked", when the connection was made.
  private(set) var state = ""

  /// Connects, and has the session bus start the vault where it does not run.
  ///
  /// - Parameter place: where the vault says why it is locked.
  init(_ place: Place) throws {
    self.place = place
    do {
      loop = try EventLoop()
      bus = try Bus(.session, loop: loop)
      try bus.onDisconnect { [unowned self] in isLost = true }
    } catch {
      throw Failure.noService(
        "there is no session bus, by which programs reach the vault. Log in again, or run this in your session.")
    }
    owner = try findOwner()
    state = try findState()
  }

  /// Only Latchkey tells it, and no other program that keeps secrets.
  private func findState() throws -> String {
    do throws(BusError) {
      return try call("/org/latchkey/vault", Self.properties, "Get") { (out: inout MessageWriter) throws(BusError) in
        try out.appendString("org.latchkey.Vault")
        try out.appendString("State")
      } read: { (answer: Message) throws(BusError) in
        try answer.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      }
    } catch {
      if error.isStandard("Disconnected") || error.isStandard("NoReply") { throw error }
      throw Failure.noService(
        """
        another program keeps the secrets of this session, not Latchkey. 'latchkey status' says which.
        End it, and log in again.
        """)
    }
  }

  private func findOwner() throws -> String {
    let found: String
    do throws(BusError) {
      let ask = { () throws(BusError) in
        try self.wait { done throws(BusError) in try self.bus.nameOwner(of: Self.name, completion: done) }
      }
      if let running = try ask() {
        found = running
      } else {
        try wait { done throws(BusError) in try self.bus.startService(Self.name, completion: done) }
        guard let started = try ask() else { throw .failed("it ended at once") }
        found = started
      }
    } catch {
      throw Failure.noService(
        """
        no vault is running, and the session bus could not start it.
        Start it with 'systemctl --user start latchkeyd.socket', or log in again.
        """)
    }
    let peer = try wait { done throws(BusError) in try self.bus.peerCredentials(of: found, completion: done) }
    guard peer.uid == getuid() || peer.uid == 0 else {
      throw Failure.noService(
        "the program that keeps the secrets of this session is not yours, so it was told nothing. Find out who started it."
      )
    }
    return found
  }

  // MARK: - calls

  /// Calls, and reads the answer.
  func call<Value>(
    _ path: String, _ interface: String, _ member: String,
    build: (inout MessageWriter) throws(BusError) -> Void = { (_: inout MessageWriter) throws(BusError) in },
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let answer = try wait { done throws(BusError) in
      try self.bus.callAsync(
        destination: self.owner, path: path, interface: interface, member: member, sensitive: true, autoStart: false,
        build: build, reply: done)
    }
    return try read(answer)
  }

  /// Every property of an object; `read` is given the name, and reads or skips the value.
  func properties(
    of path: String, _ interface: String, _ read: (String, Message) throws(BusError) -> Void
  ) throws(BusError) {
    try call(path, Self.properties, "GetAll") { (out: inout MessageWriter) throws(BusError) in
      try out.appendString(interface)
    } read: { (answer: Message) throws(BusError) in
      try answer.readDictionary("sv") { (entry: Message) throws(BusError) in try read(try entry.readString(), entry) }
    }
  }

  /// Sets a property of an item.
  func set(
    _ property: String, of path: String, _ signature: String,
    _ build: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try call(path, Self.properties, "Set") { (out: inout MessageWriter) throws(BusError) in
      try out.appendString(Self.item)
      try out.appendString(property)
      try out.appendVariant(signature, build)
    } read: { _ in
    }
  }

  /// The paths of the items that have these attributes, all of them where there are none.
  func search(_ attributes: [String: String]) throws(BusError) -> [String] {
    try call(Self.root, Self.service, "SearchItems") { (out: inout MessageWriter) throws(BusError) in
      try out.appendStringDictionary(attributes)
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPaths() + answer.readObjectPaths()
    }
  }

  private func wait<Value>(
    _ begin: (@escaping (Result<Value, BusError>) -> Void) throws(BusError) -> Void
  ) throws(BusError) -> Value {
    var answer: Result<Value, BusError>?
    try begin { answer = $0 }
    try serve { answer != nil }
    guard let answer else { throw .disconnected("the session bus is gone") }
    return try answer.get()
  }

  /// Serves the bus until it is done, for `milliseconds` at most.
  private func serve(for milliseconds: Int? = nil, until isDone: () -> Bool) throws(BusError) {
    let end = milliseconds.map { Posix.Process.now + $0 }
    while !isDone() {
      if isLost { throw .disconnected("the session bus is gone") }
      let rest = end.map { $0 - Posix.Process.now }
      if let rest, rest <= 0 { return }
      do { try loop.runOnce(timeout: rest.map { .milliseconds($0) }) } catch { throw .failed(error.description) }
    }
  }

  // MARK: - locked

  /// Does what needs `path` open; where it is not, a person is asked to open it.
  func opening<Value>(_ path: String, asking: Bool, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as BusError where error.isLocked {
      guard asking else { throw locked() }
      // Where there is no vault yet, this says so, and nobody is asked.
      _ = try search([:])
      let wasAsked = try unlock(path)
      do { return try body() } catch let error as BusError where error.isLocked {
        guard wasAsked else { throw locked() }
        throw Failure.stillLocked(
          """
          it is still locked: the question was not answered, or there was nobody to ask.
          Run 'latchkey unlock', then this again.
          """)
      }
    }
  }

  private func locked() -> Failure {
    if let reason = lockReason() { return .locked(reason) }
    return .stillLocked(
      """
      its collection is locked.
      Run 'latchkey unlock' (with --collection, where it has a passphrase of its own), then this again.
      """)
  }

  /// Why everything is locked, in the words of `latchkey status`; nil while the vault is unlocked.
  func lockReason() -> String? {
    guard state != "unlocked" else { return nil }
    // As the vault is: where it does not say why, its state is all there is to tell.
    let status = try? place.connect().status(until: Posix.Process.now + StatusCommand.answerLimit)
    guard let status, !status.lockReasons.isEmpty else { return state }
    return status.lockReasons.joined(separator: ", ")
  }

  /// Asks that `path` is opened. What was not opened shows by what is tried next.
  ///
  /// - Returns: whether a person was needed for it.
  private func unlock(_ path: String) throws -> Bool {
    let prompt = try call(Self.root, Self.service, "Unlock") { (out: inout MessageWriter) throws(BusError) in
      try out.appendObjectPaths([path])
    } read: { (answer: Message) throws(BusError) in
      _ = try answer.readObjectPaths()
      return try answer.readObjectPath()
    }
    if prompt != Self.none { try perform(prompt) }
    return prompt != Self.none
  }

  /// Waits for a person. A signal that would end this program withdraws the question first.
  ///
  /// - Returns: the path of what was made, where the prompt was for that; nil for everything else, and where the person
  ///   wanted none of it.
  @discardableResult
  func perform(_ prompt: String) throws -> String? {
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
    let sources = try signals.numbers.map { number in try loop.addSignal(number) { arrived = number } }
    let watch = try bus.watchPeer(owner) { isGone = true }
    let slot = try bus.matchSignal(
      sender: owner, path: prompt, interface: Self.prompt, member: "Completed"
    ) { message in
      isCompleted = true
      made = try? message.readMadeObject()
    }
    return try withExtendedLifetime((sources, watch, slot)) {
      try call(prompt, Self.prompt, "Prompt") { (out: inout MessageWriter) throws(BusError) in
        // No window: the vault finds the terminal by itself.
        try out.appendString("")
      } read: { _ in
      }
      try serve { isCompleted || isGone || arrived != nil }
      guard let number = arrived else {
        if isGone { throw BusError.disconnected("the vault is gone") }
        return made
      }
      try? call(prompt, Self.prompt, "Dismiss") { _ in }
      try? serve(for: 2000) { isCompleted || isGone }
      terminal?.restore()
      signals.release()
      raise(number)
      throw Failure.cancelled
    }
  }
}

/// The signals that end a program which waits, where whoever started it did not have them ignored.
private struct InterruptingSignals {
  let numbers: [Int32]

  init() {
    numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { number in
      var action = sigaction()
      sigaction(number, nil, &action)
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }

  /// Lets them come again, as the event loop has them held.
  func release() {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}

extension Message {
  /// What `Completed` says of a prompt for something new.
  fileprivate func readMadeObject() throws(BusError) -> String? {
    let isDismissed = try readBool()
    let path = try readVariant("o") { (value) throws(BusError) in try value.readObjectPath() }
    return isDismissed ? nil : path
  }
}

extension BusError {
  /// Whether a key is not in memory.
  var isLocked: Bool { name == BusError.lockedName }
  static let lockedName = "org.freedesktop.Secret.Error.IsLocked"
  /// Whether there is nothing at the path; below a collection that is not there, the bus layer says so.
  var isNoSuchObject: Bool { name == "org.freedesktop.Secret.Error.NoSuchObject" || isStandard("UnknownObject") }
}
