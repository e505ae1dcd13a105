import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// Many secrets, one of which cannot be written into the answer.
@Suite("An answer with secrets that is not sent", .timeLimit(.minutes(20))) struct UnsentSecretsTests {
  private let scene: ServiceScene
  /// The item's content type cannot be written.
  private let unwritable: Int64
  /// This item requires presence, and the client has a grant for it, which the next reader uses up.
  private let guarded: Int64

  init() throws {
    scene = try ServiceScene()
    let add = { [scene] (type: String, flags: UInt32) throws in
      try scene.vault.writer.createItem(
        NewItem(ItemMetadata(label: type, attributes: ["a": "b"], contentType: type, flags: flags), in: 1),
        secret: try SecureBytes(copying: [1].span.bytes)
      ).id
    }
    unwritable = try add("text\0", 0)
    guarded = try add("text/plain", 1)
    try scene.grant(guarded)
  }

  /// Whether the client still has the grant.
  private var isGranted: Bool { scene.service.grants.allow(guarded, for: scene.clientName) }

  private func getSecrets(_ items: [Int64]) throws {
    _ = try scene.call(ObjectPath.root, ServiceScene.service, "GetSecrets") { [session = scene.session] out in
      out.appendObjectPaths(items.map { "\(ServiceScene.login)/\($0)" })
      out.appendObjectPath(session)
    }
  }

  private func find(_ set: [String: String]) throws {
    _ = try scene.call(ObjectPath.root, "org.latchkey.Keychain", "Find") { [session = scene.session] out in
      out.appendArray("a{ss}", of: [set]) { $0.appendStringDictionary($1) }
      out.appendUInt32(0)
      out.appendObjectPath(session)
    }
  }

  @Test("An unsent answer opens no more secrets, by GetSecrets")
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
    try scene.vault.writer.deleteItem(unwritable)
    try find(["a": "b"])
    #expect(!isGranted)
  }
}
