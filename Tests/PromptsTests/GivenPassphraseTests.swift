import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import Testing

/// Questions whose passphrase a program brought.
@Suite(.timeLimit(.minutes(20))) struct GivenPassphraseTests {
  init() throws { try Sodium.initialize() }

  private static let item = Question.item(5, client: ":1.5")

  private static func passphrase() throws -> GivenPassphrase? {
    try GivenPassphrase(copying: try SecureBytes(copying: Array("sesame".utf8).span.bytes))
  }

  private static func scene(_ access: String = "application-password") throws -> Scene {
    let scene = try Scene()
    scene.daemon.access = try AccessControl(text: access)
    return scene
  }

  @Test("it is there for the program that shows the prompt, as long as that does, and told by the request")
  func shown() throws {
    let scene = try Self.scene()
    let ticket = scene.ask(Self.item, "one", passphrase: try Self.passphrase())
    let (screen, request) = try scene.show()
    #expect(request.hasPassphrase && scene.queue.passphrase(on: screen) != nil)
    #expect(scene.queue.passphrase(on: Screen()) == nil)
    scene.queue.ended(on: screen, .granted)
    #expect(scene.ended == ["one"] && ticket.end == .granted && scene.queue.passphrase(on: screen) == nil)
  }

  @Test("an item that asks for no passphrase needs none")
  func needless() throws {
    let scene = try Self.scene("user-presence")
    _ = scene.ask(Self.item, "one", passphrase: try Self.passphrase())
    #expect(try !scene.show().request.hasPassphrase)
    let new = try Self.scene("user-presence")
    _ = new.ask(.newItemPassphrase(1, client: ":1.5"), "one", passphrase: try Self.passphrase())
    #expect(try new.show().request.hasPassphrase)
  }

  @Test("the same question without it waits for a prompt of its own", arguments: [true, false])
  func notShared(isFirst: Bool) throws {
    let scene = try Self.scene()
    let first = scene.ask(Self.item, "first", passphrase: isFirst ? try Self.passphrase() : nil)
    let second = scene.ask(Self.item, "second", passphrase: isFirst ? nil : try Self.passphrase())
    let (screen, request) = try scene.show()
    #expect(request.hasPassphrase == isFirst)
    // What is on the screen belongs to the first alone.
    scene.queue.cancel(first)
    #expect(screen.wasWithdrawn && scene.queue.passphrase(on: screen) == nil && first.end == nil)
    scene.turn(untilLaunched: 2)
    let (next, other) = try scene.show()
    #expect(other.hasPassphrase == !isFirst)
    scene.queue.ended(on: next, .dismissed)
    #expect(scene.ended == ["second"] && second.end == .dismissed)
  }

  @Test("a wrong one bothers nobody, and is counted as guessed")
  func wrong() throws {
    let scene = try Self.scene()
    for count in 1...4 {
      let ticket = scene.ask(Self.item, "wrong", passphrase: try Self.passphrase())
      scene.turn(untilLaunched: count)
      let number = try #require(scene.daemon.launched.last)
      let (screen, _) = try scene.show()
      scene.queue.wasWrong(prompt: number)
      scene.queue.ended(on: screen, .refused)
      #expect(ticket.end == .refused)
    }
    #expect(!scene.queue.isPaused(Self.item, isBrought: true))
    let last = scene.ask(Self.item, "wrong", passphrase: try Self.passphrase())
    scene.turn(untilLaunched: 5)
    let number = try #require(scene.daemon.launched.last)
    _ = try scene.show()
    scene.queue.wasWrong(prompt: number)
    #expect(last.end == .refused && scene.queue.isPaused(Self.item, isBrought: true))
    let unheard = scene.ask(Self.item, "unheard", passphrase: try Self.passphrase())
    scene.turn(until: 6)
    #expect(unheard.end == .refused && scene.daemon.launched.count == 5)
  }

  @Test("each series of wrong ones costs twice the time of the one before, and keeps no person from the item")
  func series() throws {
    let scene = try Self.scene()
    var tries = 0
    for doubling in 0..<4 {
      for _ in 0..<5 {
        tries += 1
        // Each question comes from another client, but all count as one.
        let item = Question.item(5, client: ":2.\(tries)")
        _ = scene.ask(item, "wrong", passphrase: try Self.passphrase())
        scene.turn(untilLaunched: tries)
        let number = try #require(scene.daemon.launched.last)
        let (screen, _) = try scene.show()
        scene.queue.wasWrong(prompt: number)
        scene.queue.ended(on: screen, .refused)
      }
      #expect(!scene.queue.isPaused(Self.item))
      scene.pass(.seconds(30 << doubling) - .seconds(1))
      #expect(scene.queue.isPaused(Self.item, isBrought: true))
      scene.pass(.seconds(1))
      #expect(!scene.queue.isPaused(Self.item, isBrought: true))
    }
    _ = scene.ask(Self.item, "right", passphrase: try Self.passphrase())
    scene.turn(untilLaunched: tries + 1)
    scene.queue.wasRight(prompt: try #require(scene.daemon.launched.last))
    scene.queue.ended(on: try scene.show().screen, .granted)
    for _ in 0..<5 {
      tries += 1
      _ = scene.ask(.item(5, client: ":3.\(tries)"), "wrong", passphrase: try Self.passphrase())
      scene.turn(untilLaunched: tries + 1)
      let number = try #require(scene.daemon.launched.last)
      let (screen, _) = try scene.show()
      scene.queue.wasWrong(prompt: number)
      scene.queue.ended(on: screen, .refused)
    }
    scene.pass(.seconds(30))
    #expect(!scene.queue.isPaused(Self.item, isBrought: true))
  }

  @Test("how else a question ends is told as well")
  func ends() throws {
    let scene = try Self.scene()
    let locked = scene.ask(Self.item, "locked", passphrase: try Self.passphrase())
    scene.queue.locked { $0 == 5 }
    #expect(locked.end == .locked)
    let answered = scene.ask(Self.item, "answered", passphrase: try Self.passphrase())
    scene.daemon.open = [Self.item]
    scene.queue.stateChanged()
    #expect(answered.end == .outdated)
    let needless = scene.ask(Self.item, "needless")
    scene.turn(until: 3)
    #expect(needless.end == .outdated)
  }
}
