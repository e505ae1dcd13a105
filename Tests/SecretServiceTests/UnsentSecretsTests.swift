import LatchkeyPrivateBus
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// Many secrets, of which one cannot be written into the answer.
@Suite("An answer with secrets that is not sent", .timeLimit(.minutes(20))) struct UnsentSecretsTests {
  private let daemon: PrivateBus
  private let loop: EventLoop
  private let client: Bus
  private let bus: Bus
  private let name: String
  private let clientName: String
  private let owner = StandInDaemon()
  private let vault: Vault
  private let service: SecretService
  private let session: String
  /// Its content type cannot be written.
  private let unwritable: Int64
  /// It requires presence, and the client has a grant for it: whoever opens it uses that up.
  private let guarded: Int64

  init() throws {
    try Sodium.initialize()
    daemon = try PrivateBus()
    loop = try EventLoop()
    client = try daemon.connect(loop)
    bus = try daemon.connect(loop)
    (name, clientName) = (try bus.name(loop), try client.name(loop))
    vault = try Vault(inMemoryWithLabel: "Login")
    service = try SecretService(
      bus: bus, loop: loop, vault: vault, promptQueue: PromptQueue(loop: loop, delegate: owner), delegate: owner)
    let add = { [vault] (type: String, flags: UInt32) throws in
      try vault.writer.createItem(
        in: 1, ItemMetadata(label: type, attributes: ["a": "b"], contentType: type, flags: flags),
        secret: try SecureBytes(copying: [1].span.bytes), accessibility: nil, replacing: false
      ).id
    }
    unwritable = try add("text\0", 0)
    guarded = try add("text/plain", 1)
    let grant = try #require(try vault.reader.grant(item: guarded))
    service.grants.add(grant, for: clientName, .unknown, reuse: 0)
    let opened = try client.call(
      loop, name, "/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "OpenSession"
    ) { out in
      out.appendString("plain")
      out.appendVariant("s") { $0.appendString("") }
    }
    try opened.skip()
    session = try opened.readObjectPath()
  }

  /// Whether the client's grant is still there.
  private var isGranted: Bool { service.grants.allow(guarded, for: clientName) }

  private func getSecrets(_ items: [Int64]) throws {
    _ = try client.call(
      loop, name, "/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "GetSecrets"
    ) { out in
      out.appendObjectPaths(items.map { "/org/freedesktop/secrets/collection/login/\($0)" })
      out.appendObjectPath(session)
    }
  }

  private func find(_ set: [String: String]) throws {
    _ = try client.call(
      loop, name, "/org/freedesktop/secrets", "org.latchkey.Keychain", "Find"
    ) { out in
      out.appendArray("a{ss}", of: [set]) { $0.appendStringDictionary($1) }
      out.appendUInt32(0)
      out.appendObjectPath(session)
    }
  }

  @Test("opens no more of them, by GetSecrets")
  func many() throws {
    #expect(throws: BusError.invalidArguments("a text holds a NUL")) { try getSecrets([unwritable, guarded]) }
    #expect(isGranted)
    try getSecrets([guarded])
    #expect(!isGranted)
  }

  @Test("opens no more of them, by Find")
  func found() throws {
    #expect(throws: BusError.invalidArguments("a text holds a NUL")) { try find(["a": "b"]) }
    #expect(isGranted)
    try vault.writer.deleteItem(unwritable)
    try find(["a": "b"])
    #expect(!isGranted)
  }
}
