import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd
import Testing

/// Prompts that outlive the client that caused them.
@Suite(.timeLimit(.minutes(20))) struct StayingPromptTests {
  @Test(
    "a prompt that unlocks for everybody outlives its client, and a later client joins it",
    arguments: [Question.login, .collection(2)])
  func stays(_ question: Question) throws {
    let scene = try Scene()
    let first = scene.ask(question, "first", lifting: [3], for: Caller(application: "gh"))
    let (screen, request) = try scene.show()
    scene.queue.place(.window, on: screen)
    scene.queue.leave([first])
    #expect(!screen.wasWithdrawn && request.caller == "gh" && scene.daemon.ends.isEmpty)
    let second = scene.ask(question, "second", lifting: [4], for: Caller(application: "mail"))
    #expect(scene.daemon.launched.count == 1)
    if question == .login { #expect(scene.queue.lifting(prompt: scene.daemon.launched[0]) == [3, 4]) }
    // A client that dismisses a prompt withdraws its own request, but the person may still answer.
    scene.queue.cancel(second)
    #expect(!screen.wasWithdrawn)
    let third = scene.ask(question, "third")
    scene.daemon.open = [question]
    scene.queue.stateChanged()
    #expect(screen.wasWithdrawn && scene.ended == ["third"])
    #expect(scene.daemon.ends == [End(question: question, caller: "gh", end: .outdated)])
    withExtendedLifetime(third) {}
  }

  @Test("a staying prompt waits for its starting program, and does not use the terminal of a client that has left")
  func onItsWay() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first", for: Caller(application: "gh"))
    scene.queue.leave([first])
    let (screen, request) = try scene.show()
    #expect(request.caller == "gh" && request.terminal.isEmpty)
    scene.queue.ended(on: screen, .dismissed)
    #expect(scene.daemon.ends == [End(question: .login, caller: "gh", end: .dismissed)] && scene.ended.isEmpty)
  }

  @Test("a staying prompt ends soon if its program does not name the place where it asks")
  func hanging() throws {
    let scene = try Scene(placeLimit: .milliseconds(1))
    // The control: the prompt stays once the place is known, even if the client had left before.
    for isPlaced in [true, false] {
      let ticket = scene.ask(.login, "client")
      scene.turn(untilLaunched: isPlaced ? 1 : 2)
      let (screen, _) = try scene.show()
      scene.queue.leave([ticket])
      if isPlaced { scene.queue.place(.window, on: screen) }
      let ends = scene.daemon.ends.count
      for _ in 0..<100 where scene.daemon.ends.count == ends { _ = try scene.loop.runOnce(timeout: .milliseconds(1)) }
      #expect(screen.wasWithdrawn != isPlaced)
      if isPlaced { scene.queue.ended(on: screen, .dismissed) }
    }
    #expect(scene.daemon.ends.map(\.end) == [.dismissed, .expired] && scene.ended.isEmpty)
  }

  @Test("a prompt on a terminal ends with its client, even if the client left before the place was known")
  func onTerminal() throws {
    let scene = try Scene()
    for isPlacedFirst in [true, false] {
      let ticket = scene.ask(.login, "client")
      scene.turn(untilLaunched: scene.daemon.launched.count + (isPlacedFirst ? 0 : 1))
      let (screen, _) = try scene.show()
      if isPlacedFirst { scene.queue.place(.terminal, on: screen) }
      scene.queue.leave([ticket])
      #expect(screen.wasWithdrawn == isPlacedFirst)
      scene.queue.place(.terminal, on: screen)
      #expect(screen.wasWithdrawn && scene.daemon.ends.last?.end == .withdrawn)
    }
    #expect(scene.ended.isEmpty && scene.daemon.ends.count == 2)
  }

  @Test("a prompt that nobody has seen, and one about a client's own request, end with the client")
  func goes() throws {
    let scene = try Scene()
    let questions: [Question] = [
      .item(7, client: ":1.1"), .itemAccess(7, 1, client: ":1.1"), .newItemPassphrase(1, client: ":1.1"),
      .newPassphrase(2),
      .loginAdvice(client: ":1.1"),
    ]
    for question in questions {
      let ticket = scene.ask(question, "client")
      scene.turn(untilLaunched: scene.daemon.asked.count)
      let (screen, _) = try scene.show()
      scene.queue.place(.window, on: screen)
      scene.queue.leave([ticket])
      #expect(screen.wasWithdrawn && scene.daemon.ends.last?.end == .withdrawn)
    }
    let shown = scene.ask(.collection(2), "shown")
    let waiting = scene.ask(.login, "waiting")
    scene.queue.leave([waiting])
    #expect(scene.daemon.ends.last?.question == .login)
    withExtendedLifetime(shown) {}
  }

  @Test("a locker ends a prompt that no other client waits for")
  func locker() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first")
    let (screen, _) = try scene.show()
    scene.queue.leave([first])
    #expect(!screen.wasWithdrawn)
    scene.daemon.isLockerUp = true
    scene.queue.stateChanged()
    #expect(screen.wasWithdrawn && scene.daemon.ends.map(\.end) == [.withdrawn])
    scene.daemon.isLockerUp = false
    scene.queue.stateChanged()
    #expect(scene.daemon.launched.count == 1)
  }
}
