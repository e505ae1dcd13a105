import Testing

@testable import LatchkeySecretService

/// The news of a lock, over a vault in memory and without a session.
@Suite("A client that has read an item", .timeLimit(.minutes(20))) struct StateAnnouncerTests {
  private let scene: ServiceScene

  init() throws { scene = try ServiceScene() }

  /// libsecret reads the secrets only of items that it believes unlocked.
  @Test("hears of its lock before the answer to a search, unless very many items were found", arguments: [256, 257])
  func found(count: Int) throws {
    let (_, path) = try scene.add("a")
    _ = try scene.call(path, "org.freedesktop.DBus.Properties", "GetAll") {
      $0.appendString("org.freedesktop.Secret.Item")
    }
    let announcer = scene.service.announcer
    let signals = try scene.changes(of: path) {
      scene.vault.lock()
      scene.service.stateChanged()
      announcer.tell(
        found: Array(repeating: ItemSearch.Found(path: path, isReadable: false), count: count), to: scene.clientName)
      // An idle turn has nothing left to tell.
      announcer.forget(client: scene.clientName)
    }
    #expect(signals == (count == 256 ? 1 : 0))
  }
}
