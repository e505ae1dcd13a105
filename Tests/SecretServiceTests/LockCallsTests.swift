import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// `Lock` and `LockService`, for a vault in memory and without a session.
@Suite("Lock", .timeLimit(.minutes(20))) struct LockCallsTests {
  private let scene: ServiceScene

  init() throws { scene = try ServiceScene() }

  private func lock(_ paths: [String]) throws -> [String] {
    let (locked, prompt) = try scene.ask("Lock", paths)
    #expect(prompt == "/")
    return locked
  }

  @Test("Lock locks a collection and an item, and returns each path once")
  func both() throws {
    let (first, other) = (try scene.add("a"), try scene.add("b"))
    #expect(try lock([first.path, first.path]) == [first.path])
    #expect(try scene.secret(first.id) == nil && scene.secret(other.id) == "b")
    #expect(try lock([ServiceScene.login, ServiceScene.login]) == [ServiceScene.login])
    #expect(try scene.secret(other.id) == nil)
    #expect(try scene.vault.collections.state(of: 1) == .lockedExplicitly)
  }

  @Test("Lock removes a person's grant for an item with requirements, but no key")
  func guarded() throws {
    let (id, path) = try scene.add("a", flags: 1)
    try scene.grant(id)
    #expect(scene.service.grants.allow(id, for: scene.clientName))
    #expect(try lock([path]) == [path])
    #expect(!scene.service.grants.allow(id, for: scene.clientName))
    #expect(!scene.vault.reader.isLockedByItself(item: id))
  }

  @Test("Lock ends a prompt for an item that is locked now")
  func waiting() throws {
    let waiting = try scene.create("a", secret: "x", require: "application-password")
    let end = try scene.end(of: waiting.prompt, type: "o") { _ = try lock([ServiceScene.login]) }
    #expect(end == ServiceScene.End(outcome: "withdrawn", dismissed: true, result: ["/"]))
  }

  @Test("Lock locks the rest if something cannot be locked, and returns an error if it locked nothing")
  func obstacles() throws {
    let (id, path) = try scene.add("a")
    let missing = "\(ServiceScene.login)/\(id + 1)"
    #expect(
      try scene.error { _ = try lock([ServiceScene.sessionCollection]) } == "org.freedesktop.DBus.Error.NotSupported")
    #expect(try scene.error { _ = try lock([missing]) } == "org.freedesktop.Secret.Error.NoSuchObject")
    #expect(try lock([ServiceScene.sessionCollection, missing, path]) == [path])
    #expect(try lock([]).isEmpty)
  }

  @Test("Lock of the service locks everything except the session collection")
  func everything() throws {
    let second = try scene.vault.collections.create(label: "Second")
    let kept = try scene.create("a", secret: "x", in: ServiceScene.sessionCollection)
    _ = try scene.call(ObjectPath.root, ServiceScene.service, "LockService")
    for id in [1, second] { #expect(try scene.vault.collections.state(of: id) == .lockedExplicitly) }
    #expect(try scene.ask("Unlock", [kept.item]).done == [kept.item])
  }
}
