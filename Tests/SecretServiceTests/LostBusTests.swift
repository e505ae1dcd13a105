import LatchkeyPrivateBus
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

@Suite("A lost bus", .timeLimit(.minutes(20))) struct LostBusTests {
  init() throws { try Sodium.initialize() }

  private final class Screen: PromptConnection {
    var wasWithdrawn = false
    func withdraw(gone: @escaping () -> Void) {
      wasWithdrawn = true
      gone()
    }
  }

  @Test("A lost bus ends the prompts of its clients, and nothing of it stays in memory")
  func lost() throws {
    let daemon = try PrivateBus()
    let loop = try EventLoop()
    let client = try daemon.connect(loop)
    let owner = StandInDaemon()
    let queue = PromptQueue(loop: loop, delegate: owner)
    let vault = try Vault(inMemoryWithLabel: "Login")
    vault.lock()
    var bus: Bus? = try daemon.connect(loop)
    let name = try #require(bus).name(loop)
    var service: SecretService? = try SecretService(
      bus: try #require(bus), loop: loop, vault: vault, promptQueue: queue, delegate: owner)
    weak let left = service
    // The interfaces on the bus hold these parts too.
    weak let tree = service?.tree

    let answer = try client.call(
      loop, name, "/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "Unlock"
    ) { $0.appendObjectPaths(["/org/freedesktop/secrets/collection/login"]) }
    _ = try answer.readObjectPaths()
    let prompt = try answer.readObjectPath()
    _ = try client.call(
      loop, name, prompt, "org.freedesktop.Secret.Prompt", "Prompt"
    ) { $0.appendString("") }
    try loop.run(until: "prompt") { !owner.launched.isEmpty }
    let screen = Screen()
    _ = try #require(queue.show(owner.launched[0], on: screen))

    var isLost = false
    try #require(bus).onDisconnect { isLost = true }
    daemon.stop()
    try loop.run(until: "disconnect") { isLost }
    service?.disconnect()
    service = nil
    bus = nil
    #expect(screen.wasWithdrawn)
    // Replies that failed with the bus keep the service alive for one more turn.
    for _ in 0..<10 { try loop.runOnce(timeout: .zero) }
    #expect(left == nil && tree == nil)
  }
}
