import LatchkeyKeybag
import LatchkeyPrivateBus
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeySystemd
import LatchkeyVault
import Testing

@Suite("A bus that is lost", .timeLimit(.minutes(20))) struct LostBusTests {
  /// A daemon that starts nothing and writes down what it should start.
  private final class Daemon: PromptQueueDelegate, SecretServiceDelegate {
    let isLockerUp = false
    var launched: [UInt64] = []
    func defaultClass(for attributes: [String: String]) -> AccessibilityClass { .whenUnlocked }
    func lookAgain() {}
    func presentFingers(_ answer: @escaping (Result<FingerSet, VaultError>) -> Void) {
      answer(.failure(.noFingers("")))
    }
    func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {}
    func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool { false }
    func subject(of question: Question) -> PromptSubject { PromptSubject() }
    func check(_ question: Question, then: @escaping (PromptEnd?) -> Void) { then(nil) }
    func accepted(
      _ question: Question, for caller: Caller, showing subject: PromptSubject, answer: AnyObject?
    ) -> Bool { true }
    func asked(_ question: Question) {}
    func ended(_ question: Question, for caller: Caller, _ end: PromptEnd) {}
    func used(_ question: Question, by caller: Caller) {}
    func launchPrompt(_ number: UInt64, failed: @escaping () -> Void) { launched.append(number) }
  }

  private final class Screen: PromptConnection {
    var wasWithdrawn = false
    func withdraw(gone: @escaping () -> Void) {
      wasWithdrawn = true
      gone()
    }
  }

  @Test("takes the prompts of its clients along, and nothing of it stays in memory")
  func lost() throws {
    let daemon = try PrivateBus()
    let loop = try EventLoop()
    let client = try daemon.connect(loop)
    let owner = Daemon()
    let queue = PromptQueue(loop: loop, delegate: owner)
    let vault = try Vault(inMemoryWithLabel: "Login")
    vault.lock()
    var bus: Bus? = try daemon.connect(loop)
    let name = try #require(bus).name(loop)
    var service: SecretService? = try SecretService(
      bus: try #require(bus), loop: loop, vault: vault, promptQueue: queue, delegate: owner)
    weak let left = service

    let answer = try client.call(
      loop, name, "/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "Unlock"
    ) { (out: inout MessageWriter) throws(BusError) in
      try out.appendObjectPaths(["/org/freedesktop/secrets/collection/login"])
    }
    _ = try answer.readObjectPaths()
    let prompt = try answer.readObjectPath()
    _ = try client.call(
      loop, name, prompt, "org.freedesktop.Secret.Prompt", "Prompt"
    ) { (out: inout MessageWriter) throws(BusError) in try out.appendString("") }
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
    // Replies that failed with the bus hold it for one more turn.
    for _ in 0..<10 { try loop.runOnce(timeout: .zero) }
    #expect(left == nil)
  }
}
