import LatchkeySystemd
import Testing

@testable import LatchkeySecretService

/// The limits of writes that wait, over a vault in memory and without a session.
@Suite("Writes that wait", .timeLimit(.minutes(20))) struct PendingWritesTests {
  private let scene: ServiceScene
  /// The path of a prompt in which an item of the client waits for its passphrase.
  private let prompt: String
  /// With an item of this size, what waits already is too much.
  private static let all = 64 << 20

  init() throws {
    scene = try ServiceScene()
    prompt = try scene.create("a", secret: "x", require: "application-password").prompt
  }

  /// Whether the item still waits. The prompt ends here, too.
  private func waits() throws -> Bool {
    try scene.error { _ = try scene.call(prompt, ServiceScene.prompt, "Dismiss") } == nil
  }

  @Test("give way to a client that has fewer")
  func fewer() throws {
    try scene.service.waits.checkRoom(for: Self.all, of: ":1.4711")
    #expect(try !waits())
  }

  @Test("stay where the client that brings another one has as many, and is refused")
  func tie() throws {
    let error = #expect(throws: BusError.self) {
      try scene.service.waits.checkRoom(for: Self.all, of: scene.clientName)
    }
    #expect(error?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
    #expect(try waits())
  }
}
