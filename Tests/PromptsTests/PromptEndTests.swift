import LatchkeyControl
import LatchkeyKeybag
import LatchkeySystemd
import Testing

@testable import LatchkeyPrompts

@Suite(.timeLimit(.minutes(20))) struct PromptEndTests {
  @Test("a client that has left gets no answer, and the last one takes the prompt with it")
  func cancelled() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first")
    let second = scene.ask(.login, "second")
    let (screen, _) = try scene.show()
    scene.queue.cancel(first)
    #expect(!screen.wasWithdrawn)
    scene.queue.cancel(second)
    #expect(screen.wasWithdrawn && scene.ended.isEmpty)
    // The next prompt waits a moment, so that a typing person notices the change.
    let third = scene.ask(.login, "third")
    #expect(scene.daemon.launched.count == 1)
    withExtendedLifetime(third) { scene.turn(untilLaunched: 2) }
    #expect(scene.daemon.launched.count == 2)
  }

  @Test("a prompt on a terminal ends with the client that it names, and is shown again for the next")
  func namedClientGone() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first", for: Caller(application: "editor"))
    let second = scene.ask(.login, "second", for: Caller(application: "mail"))
    let third = scene.ask(.login, "third", for: Caller(application: "mail"))
    let (screen, request) = try scene.show()
    #expect(request.caller == "editor")
    scene.queue.place(.terminal, on: screen)
    scene.queue.cancel(first)
    #expect(screen.wasWithdrawn)
    scene.turn(untilLaunched: 2)
    let next = try scene.show()
    #expect(next.request.caller == "mail")
    // The next client has the same name and terminal, so the prompt stays unchanged.
    scene.queue.cancel(second)
    #expect(!next.screen.wasWithdrawn && scene.daemon.launched.count == 2)
    scene.queue.ended(on: next.screen)
    #expect(scene.ended == ["third"])
    withExtendedLifetime(third) {}
  }

  @Test("nobody can touch a reader for a prompt on a terminal at another machine")
  func away() throws {
    let scene = try Scene()
    var caller = Caller(application: "mail")
    caller.isAway = true
    let ticket = scene.ask(.login, "first", for: caller)
    let (screen, request) = try scene.show()
    let number = try #require(scene.daemon.launched.last)
    #expect(request.isAway && !scene.queue.isAway(prompt: number))
    scene.queue.place(.window, on: screen)
    #expect(!scene.queue.isAway(prompt: number))
    scene.queue.place(.terminal, on: screen)
    #expect(scene.queue.isAway(prompt: number) && !scene.queue.isAway(prompt: number &+ 1))
    withExtendedLifetime(ticket) {}
  }

  @Test("a client whose wish is met is told, even if others still wait for the same prompt")
  func partlyAnswered() throws {
    let scene = try Scene()
    scene.daemon.lockedExplicitly = [3]
    let first = scene.ask(.login, "all of it", lifting: [3])
    let second = scene.ask(.login, "the session")
    let (screen, _) = try scene.show()
    scene.daemon.open = [.login]
    scene.queue.stateChanged()
    #expect(scene.ended == ["the session"] && !screen.wasWithdrawn)
    scene.daemon.lockedExplicitly = []
    scene.queue.stateChanged()
    #expect(scene.ended == ["the session", "all of it"] && screen.wasWithdrawn)
    withExtendedLifetime((first, second)) {}
  }

  @Test("the end of a program that has left ends only its own question")
  func gone() throws {
    let scene = try Scene()
    _ = scene.ask(.login, "login")
    let (screen, _) = try scene.show()
    scene.queue.ended(on: Screen())
    #expect(scene.ended.isEmpty)
    scene.queue.ended(on: screen)
    #expect(scene.ended == ["login"])
  }

  @Test("a prompt of a client's own does not wait in the queue")
  func own() throws {
    let scene = try Scene()
    let screen = Screen()
    let (number, request) = scene.queue.open(.newPassphrase(5), on: screen)
    #expect(request.purpose == .newPassphrase && scene.daemon.launched.isEmpty)
    #expect(scene.queue.question(ofPrompt: number) == .newPassphrase(5))
    let derivation = try #require(scene.queue.newDerivation(ofPrompt: number))
    #expect(scene.queue.newDerivation(ofPrompt: number) == derivation)
    _ = scene.ask(.login, "client")
    #expect(scene.daemon.launched.count == 1)
    scene.queue.ended(on: screen)
    #expect(scene.queue.question(ofPrompt: number) == nil && scene.ended.isEmpty)
  }

  @Test("the end of each question is reported once, with its kind and its client")
  func ends() throws {
    let item = Question.item(7, client: ":1.1")
    let ways: [(PromptEnd, (Scene, PromptTicket) throws -> Void)] = [
      (.granted, { scene, _ in scene.queue.ended(on: try scene.show().screen, .granted) }),
      (
        .outdated,
        { scene, _ in
          scene.daemon.counts = false
          scene.queue.ended(on: try scene.show().screen, .granted)
        }
      ),
      (.refused, { scene, _ in scene.queue.ended(on: try scene.show().screen, .refused) }),
      (.dismissed, { scene, _ in scene.queue.ended(on: try scene.show().screen, .dismissed) }),
      (.unavailable, { scene, _ in scene.queue.ended(on: try scene.show().screen, .unavailable) }),
      (.broken, { scene, _ in scene.queue.ended(on: try scene.show().screen) }),
      (.withdrawn, { scene, ticket in scene.queue.cancel(ticket) }),
      (
        .withdrawn,
        { scene, ticket in
          _ = try scene.show()
          scene.queue.cancel(ticket)
        }
      ),
      (
        .refused,
        { scene, _ in
          _ = try scene.show()
          let number = try #require(scene.daemon.launched.last)
          for _ in 0..<5 { scene.queue.wasWrong(prompt: number) }
        }
      ),
      (.locked, { scene, _ in scene.queue.locked { _ in true } }),
      (
        .outdated,
        { scene, _ in
          scene.daemon.open = [item]
          scene.queue.stateChanged()
        }
      ),
    ]
    for (end, way) in ways {
      let scene = try Scene()
      let ticket = scene.ask(item, "client", for: Caller(application: "mail"))
      #expect(scene.daemon.asked == [item] && scene.daemon.ends.isEmpty)
      try way(scene, ticket)
      #expect(scene.daemon.ends == [End(question: item, caller: "mail", end: end)])
      scene.queue.cancel(ticket)
      scene.queue.locked { _ in true }
      #expect(scene.daemon.ends.count == 1)
    }
  }

  @Test("after too many wrong answers, the clients are told when the prompt has left the screen")
  func refusedOnScreen() throws {
    let scene = try Scene()
    let ticket = scene.ask(.item(7, client: ":1.1"), "client")
    let (screen, _) = try scene.show()
    screen.lingers = true
    let number = try #require(scene.daemon.launched.last)
    for _ in 0..<5 { scene.queue.wasWrong(prompt: number) }
    #expect(screen.wasWithdrawn && scene.ended.isEmpty)
    screen.leave?()
    #expect(scene.ended == ["client"] && ticket.end == .refused)
  }

  @Test("a question that is already answered, or only put off, has no reported end")
  func noEnds() throws {
    let scene = try Scene()
    scene.daemon.open = [.item(1, client: ":1.1")]
    _ = scene.ask(.item(1, client: ":1.1"), "open")
    #expect(scene.daemon.asked.isEmpty)
    _ = scene.ask(.item(2, client: ":1.1"), "behind a locker")
    _ = try scene.show()
    scene.daemon.isLockerUp = true
    scene.queue.stateChanged()
    scene.daemon.isLockerUp = false
    scene.queue.stateChanged()
    #expect(scene.daemon.asked.count == 1 && scene.daemon.ends.isEmpty)
  }

  @Test("a prompt that could not be shown is reported as such")
  func notLaunched() throws {
    let scene = try Scene()
    scene.daemon.cannotLaunch = true
    _ = scene.ask(.item(1, client: ":1.1"), "client", for: Caller(application: "mail"))
    for _ in 0..<10 where scene.ended.isEmpty { _ = try scene.loop.runOnce(timeout: .seconds(1)) }
    #expect(scene.daemon.ends.map(\.end) == [.unavailable])
  }
}
