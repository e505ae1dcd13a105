import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// `CreateItem`, for a vault in memory and without a session.
@Suite("A new item", .timeLimit(.minutes(20))) struct ItemCreationTests {
  private let scene: ServiceScene
  private static let isLocked = "org.freedesktop.Secret.Error.IsLocked"
  private static let notSupported = "org.freedesktop.DBus.Error.NotSupported"

  init() throws { scene = try ServiceScene() }

  private func id(_ path: String) throws -> Int64 {
    try #require(Int64(path.split(separator: "/").last ?? ""))
  }

  private func count(_ name: String) throws -> Int {
    try scene.vault.reader.search(.attributes(["name": name])).count
  }

  @Test("A new item is stored at once, and replaces the item with the same attributes if the client says so")
  func replaced() throws {
    let first = try scene.create("a", secret: "one")
    let second = try scene.create("a", secret: "two")
    #expect(first.prompt == "/" && second.prompt == "/" && first.item != second.item)
    // If several items match, the item that was changed last is replaced.
    let third = try scene.create("a", secret: "three", replacing: true)
    #expect(third.item == second.item)
    #expect(try scene.secret(id(first.item)) == "one" && scene.secret(id(second.item)) == "three")
    #expect(try count("a") == 2)
  }

  @Test("A new item never replaces an item that cannot be read now")
  func unreadable() throws {
    let (id, path) = try scene.add("a")
    try scene.vault.writer.lockItem(id)
    #expect(try scene.error { _ = try scene.create("a", secret: "new", replacing: true) } == Self.isLocked)
    #expect(try count("a") == 1)
    scene.vault.lock()
    #expect(try scene.error { _ = try scene.create("a", secret: "new", replacing: true) } == Self.isLocked)
    #expect(path == "\(ServiceScene.login)/\(id)" && scene.owner.launched.isEmpty)
  }

  @Test("A new item replaces an item that requires presence, once for each answer of a person")
  func guarded() throws {
    let (id, path) = try scene.add("a", flags: 1)
    let replace = { [scene] in _ = try scene.create("a", secret: "new", replacing: true) }
    #expect(try scene.error(replace) == Self.isLocked)
    try scene.grant(id)
    #expect(try scene.create("a", secret: "new", replacing: true).item == path)
    #expect(try scene.error(replace) == Self.isLocked)
    let granted = try #require(try scene.vault.reader.grant(item: id))
    #expect(try scene.secret(id, granted: granted) == "new")
    // The new item names other requirements than the old item.
    try scene.grant(id)
    let other = { [scene] in
      _ = try scene.create("a", secret: "x", require: "device-passcode", replacing: true)
    }
    #expect(try scene.error(other) == Self.notSupported)
  }

  @Test("A new item with a passphrase waits for the person who chooses it, and only that answer stores it")
  func passphrase() throws {
    let waiting = try scene.create("a", secret: "one", require: "application-password")
    #expect(waiting.item == "/" && waiting.prompt.hasPrefix("/org/freedesktop/secrets/prompt/"))
    #expect(try count("a") == 0)
    let end = try scene.end(of: waiting.prompt, type: "o") { try scene.answer(.dismissed) }
    #expect(end == ServiceScene.End(outcome: "dismissed", dismissed: true, result: ["/"]))
    #expect(try count("a") == 0)
  }

  @Test("A new item with a passphrase replaces an item with requirements only by a grant, which waits with it")
  func passphraseInPlace() throws {
    let (id, _) = try scene.add("a", flags: 1)
    let create = { [scene] in
      try scene.create("a", secret: "new", require: "application-password", replacing: true)
    }
    // A grant does not allow a change of the requirements.
    try scene.grant(id)
    #expect(try scene.error { _ = try create() } == Self.notSupported)
    #expect(scene.service.grants.allow(id, for: scene.clientName))
  }

  @Test("A new item in the session collection requires nothing")
  func session() throws {
    let inSession = { [scene] (require: String?) in
      try scene.create("a", secret: "x", require: require, in: ServiceScene.sessionCollection)
    }
    #expect(try inSession(nil).item.hasPrefix(ServiceScene.sessionCollection + "/"))
    #expect(try scene.error { _ = try inSession("user-presence") } == Self.notSupported)
    #expect(try count("a") == 0)
  }

  @Test("A new item that no vault can keep is refused before it waits")
  func tooLarge() throws {
    let name = String(repeating: "x", count: 9 << 20)
    #expect(
      try scene.error { _ = try scene.create(name, secret: "x", require: "application-password") }
        == "org.freedesktop.DBus.Error.LimitsExceeded")
  }
}
