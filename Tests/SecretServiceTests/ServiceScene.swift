import LatchkeyKeybag
import LatchkeyPrivateBus
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// The service's objects for a vault in memory, and a client with a transport session, on a bus of the test.
final class ServiceScene {
  let owner = StandInDaemon()
  let vault: Vault
  let queue: PromptQueue
  let service: SecretService
  /// The client's unique name.
  let clientName: String

  private let daemon: PrivateBus
  private let loop: EventLoop
  private let client: Bus
  private let bus: Bus
  private let name: String
  /// The path of the client's transport session.
  private(set) var session = ""

  static let service = "org.freedesktop.Secret.Service"
  static let prompt = "org.freedesktop.Secret.Prompt"
  static let toldPrompt = "org.latchkey.Prompt"
  static let login = "/org/freedesktop/secrets/collection/login"
  static let sessionCollection = "/org/freedesktop/secrets/collection/session"

  init() throws {
    try Sodium.initialize()
    daemon = try PrivateBus()
    loop = try EventLoop()
    client = try daemon.connect(loop)
    bus = try daemon.connect(loop)
    (name, clientName) = (try bus.name(loop), try client.name(loop))
    vault = try Vault(inMemoryWithLabel: "Login")
    queue = PromptQueue(loop: loop, delegate: owner)
    service = try SecretService(bus: bus, loop: loop, vault: vault, promptQueue: queue, delegate: owner)
    let opened = try call(ObjectPath.root, Self.service, "OpenSession") { out in
      out.appendString("plain")
      out.appendVariant("s") { $0.appendString("") }
    }
    try opened.skip()
    session = try opened.readObjectPath()
  }

  /// Makes a call as the client.
  func call(
    _ path: String, _ interface: String, _ member: String,
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in }
  ) throws -> Message {
    try client.call(loop, name, path, interface, member, build: build)
  }

  /// The name of a call's error; nil if the call succeeds.
  func error(_ body: () throws -> Void) throws -> String? {
    do { try body() } catch let error as BusError { return error.name }
    return nil
  }

  /// Stores an item directly, and returns its number and path.
  func add(_ name: String, flags: UInt32 = 0) throws -> (id: Int64, path: String) {
    let id = try vault.writer.createItem(
      NewItem(
        ItemMetadata(label: name, attributes: ["name": name], contentType: "text/plain", flags: flags), in: 1),
      secret: try SecureBytes(copying: Array(name.utf8).span.bytes)
    ).id
    return (id, "\(Self.login)/\(id)")
  }

  /// Gives the client a person's grant, for one use.
  func grant(_ item: Int64) throws {
    service.grants.add(try #require(try vault.reader.grant(item: item)), for: clientName, .unknown, reuse: 0)
  }

  /// The client calls `CreateItem`. Returns the paths of the item and of the prompt.
  func create(
    _ name: String, secret: String, require: String? = nil, replacing: Bool = false, in collection: String = login
  ) throws -> (item: String, prompt: String) {
    var attributes = ["name": name]
    attributes["latchkey:require"] = require
    let answer = try call(collection, "org.freedesktop.Secret.Collection", "CreateItem") { [session] out in
      out.appendDictionary("sv") { out in
        out.appendEntry("sv") { out in
          out.appendString("org.freedesktop.Secret.Item.Label")
          out.appendVariant("s") { $0.appendString(name) }
        }
        out.appendEntry("sv") { out in
          out.appendString("org.freedesktop.Secret.Item.Attributes")
          out.appendVariant("a{ss}") { $0.appendStringDictionary(attributes) }
        }
      }
      out.appendStruct("oayays") { out in
        out.appendObjectPath(session)
        out.appendBytes([])
        out.appendBytes(Array(secret.utf8))
        out.appendString("text/plain")
      }
      out.appendBool(replacing)
    }
    return (try answer.readObjectPath(), try answer.readObjectPath())
  }

  /// The client calls `Unlock` or `Lock`. Returns the paths that are done, and the path of the prompt.
  func ask(_ member: String, _ paths: [String]) throws -> (done: [String], prompt: String) {
    let answer = try call(ObjectPath.root, Self.service, member) { $0.appendObjectPaths(paths) }
    return (try answer.readObjectPaths(), try answer.readObjectPath())
  }

  /// How often the client hears from `body` that properties of an object changed.
  func changes(of path: String, in body: () throws -> Void) throws -> Int {
    var count = 0
    let slot = try client.matchSignal(
      sender: name, path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged"
    ) { _ in count += 1 }
    try body()
    // Signals come in the order in which they were sent, and before this answer.
    _ = try withExtendedLifetime(slot) {
      try call(ObjectPath.root, Self.service, "ReadAlias") { $0.appendString("default") }
    }
    return count
  }

  /// The secret of an item as text; nil if it cannot be read now.
  func secret(_ id: Int64, granted: AccessGrant? = nil) throws -> String? {
    guard let opened = try vault.reader.secretIfReadable(ofItem: id, in: 1, granted: granted) else { return nil }
    return text(opened.secret)
  }

  private func text(_ secret: borrowing SecureBytes) -> String {
    secret.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// The end of a prompt: the word of `Ended`, if there was one, and the result of `Completed`.
  struct End: Equatable {
    var outcome: String?
    var dismissed: Bool?
    var result: [String] = []
  }

  /// The client calls `Prompt`. `body` runs when the question is waiting or has ended, and then the function waits for the end.
  ///
  /// - Parameters:
  ///   - told: whether the client uses `org.latchkey.Prompt`.
  ///   - type: the type of the result.
  func end(
    of prompt: String, told: Bool = true, type: String = "ao", after body: () throws -> Void = {}
  ) throws -> End {
    var end = End()
    let slots = [
      try client.matchSignal(sender: name, path: prompt, interface: Self.toldPrompt, member: "Ended") {
        (signal: Message) throws(BusError) in end.outcome = try signal.readString()
      },
      try client.matchSignal(sender: name, path: prompt, interface: Self.prompt, member: "Completed") {
        (signal: Message) throws(BusError) in
        let dismissed = try signal.readBool()
        end.result = try signal.readVariant(type) { (value: Message) throws(BusError) in
          switch type {
          case "ao": try value.readObjectPaths()
          case "o": [try value.readObjectPath()]
          default: [try value.readString()]
          }
        }
        end.dismissed = dismissed
      },
    ]
    _ =
      told
      ? try call(prompt, Self.toldPrompt, "Prompt") { $0.appendDictionary("sv") { _ in } }
      : try call(prompt, Self.prompt, "Prompt") { $0.appendString("") }
    try body()
    try withExtendedLifetime(slots) { try loop.run(until: "the end of the prompt") { end.dismissed != nil } }
    return end
  }

  /// Shows the question that was started last, and ends it as the prompt's program would.
  func answer(_ end: PromptEnd?) throws {
    try loop.run(until: "a prompt on the screen") { !owner.launched.isEmpty }
    let screen = Screen()
    let number = try #require(owner.launched.last)
    _ = try #require(queue.show(number, on: screen))
    queue.ended(on: screen, end)
  }

  /// A stand-in for the program that shows a prompt.
  private final class Screen: PromptConnection {
    func withdraw(gone: @escaping () -> Void) { gone() }
  }
}
