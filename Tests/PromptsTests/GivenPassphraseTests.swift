import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import Testing

/// Questions with a passphrase from a program.
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

  @Test("the program that shows the prompt gets the passphrase while it shows the prompt, and the request says so")
  func shown() throws {
    let scene = try Self.scene()
    let ticket = scene.ask(Self.item, "one", passphrase: try Self.passphrase())
    let (screen, request) = try scene.show()
    #expect(request.hasPassphrase && scene.queue.passphrase(on: screen) != nil)
    #expect(scene.queue.passphrase(on: Screen()) == nil)
    scene.queue.ended(on: screen, .granted)
    #expect(scene.ended == ["one"] && ticket.end == .granted && scene.queue.passphrase(on: screen) == nil)
  }

  @Test("an item that requires no passphrase gets none")
  func needless() throws {
    let scene = try Self.scene("user-presence")
    _ = scene.ask(Self.item, "one", passphrase: try Self.passphrase())
    #expect(try !scene.show().request.hasPassphrase)
    let new = try Self.scene("user-presence")
    _ = new.ask(.newItemPassphrase(1, client: ":1.5"), "one", passphrase: try Self.passphrase())
    #expect(try new.show().request.hasPassphrase)
  }

  @Test("the same question without a passphrase waits for a prompt of its own", arguments: [true, false])
  func notShared(isFirst: Bool) throws {
    let scene = try Self.scene()
    let first = scene.ask(Self.item, "first", passphrase: isFirst ? try Self.passphrase() : nil)
    let second = scene.ask(Self.item, "second", passphrase: isFirst ? nil : try Self.passphrase())
    let (screen, request) = try scene.show()
    #expect(request.hasPassphrase == isFirst)
    // The prompt on the screen belongs only to the first question.
    scene.queue.cancel(first)
    #expect(screen.wasWithdrawn && scene.queue.passphrase(on: screen) == nil && first.end == nil)
    scene.turn(untilLaunched: 2)
    let (next, other) = try scene.show()
    #expect(other.hasPassphrase == !isFirst)
    scene.queue.ended(on: next, .dismissed)
    #expect(scene.ended == ["second"] && second.end == .dismissed)
  }

  @Test("a wrong passphrase bothers nobody, and counts as a guess")
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

  @Test("each series of wrong passphrases makes the next pause twice as long, and keeps no person from the item")
  func series() throws {
    let scene = try Self.scene()
    var tries = 0
    for doubling in 0..<4 {
      for _ in 0..<5 {
        tries += 1
        // Each question comes from another client, but the guesses count together.
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

  @Test("all other ends of a question are reported too")
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
