import Control
import Keybag
import Prompts
import Systemd
import Testing

@Suite(.timeLimit(.minutes(1))) struct PromptQueueTests {
  /// A daemon that starts nothing and writes down what it should start.
  private final class Daemon: PromptQueueDelegate {
    var isLockerUp = false
    var open: Set<Question> = []
    var marked: Set<Int64> = []
    var launched: [UInt64] = []
    var cannotLaunch = false
    var needsNobody = false
    var access = AccessControl.none
    var accepted: [Question] = []
    var answers: [String?] = []
    func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool {
      open.contains(question) && lifting.isDisjoint(with: marked)
    }
    func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {
      guard needsNobody, question == .login else { return }
      open.insert(.login)
      marked.subtract(lifting)
    }
    func subject(of question: Question) -> (label: String, access: AccessControl) {
      if case .collection(let id) = question { ("collection \(id)", .none) } else { ("", access) }
    }
    var counts = true
    var asked: [Question] = []
    var ends: [End] = []
    func accepted(
      _ question: Question, for caller: Caller, showing access: AccessControl, answer: AnyObject?
    ) -> Bool {
      accepted.append(question)
      answers.append((answer as? Answer)?.text)
      return counts
    }
    func asked(_ question: Question) { asked.append(question) }
    func ended(_ question: Question, for caller: Caller, _ end: PromptEnd) {
      ends.append(End(question: question, caller: caller.name, end: end))
    }
    func used(_ question: Question, by caller: Caller) {}
    func launchPrompt(_ number: UInt64, failed: @escaping () -> Void) {
      launched.append(number)
      if cannotLaunch { failed() }
    }
  }

  private struct End: Equatable {
    let question: Question
    let caller: String
    let end: PromptEnd
  }

  private final class Answer {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private final class Screen: PromptConnection {
    var wasWithdrawn = false
    func withdraw() { wasWithdrawn = true }
  }

  private final class Scene {
    let loop: EventLoop
    let daemon = Daemon()
    let queue: PromptQueue
    var ended: [String] = []

    init() throws {
      loop = try EventLoop()
      queue = PromptQueue(loop: loop, delegate: daemon)
    }

    func ask(
      _ question: Question, _ name: String, lifting: Set<Int64> = [], for caller: Caller = .unknown
    ) -> PromptTicket {
      queue.ask(question, lifting: lifting, for: caller) { [unowned self] in ended.append(name) }
    }

    /// Shows what was launched last.
    func show() throws -> (screen: Screen, request: PromptRequest) {
      let screen = Screen()
      let number = try #require(daemon.launched.last)
      return (screen, try #require(queue.show(number, on: screen)))
    }
  }

  @Test("who waits for the same answer shares one prompt; other questions come one after the other")
  func shared() throws {
    let scene = try Scene()
    _ = scene.ask(.login, "first", lifting: [3])
    _ = scene.ask(.collection(2), "other")
    _ = scene.ask(.login, "second", lifting: [4])
    #expect(scene.daemon.launched.count == 1)
    let (screen, request) = try scene.show()
    #expect(request.purpose == .login)
    #expect(scene.queue.lifting(prompt: scene.daemon.launched[0]) == [3, 4])
    #expect(scene.queue.lifting(prompt: scene.daemon.launched[0] + 1) == nil)
    scene.daemon.open = [.login]
    scene.queue.stateChanged()
    #expect(scene.ended == ["first", "second"] && screen.wasWithdrawn)
    #expect(scene.daemon.launched.count == 2)
    let next = try scene.show()
    #expect(next.request.purpose == .collection && next.request.label == "collection 2")
    scene.queue.ended(on: next.screen)
    #expect(scene.ended == ["first", "second", "other"])
  }

  @Test("a prompt that is not on the screen opens nothing, withdrawn or not there yet")
  func liftsOnlyWhatIsShown() throws {
    let scene = try Scene()
    _ = scene.ask(.login, "client", lifting: [3])
    let number = scene.daemon.launched[0]
    #expect(scene.queue.lifting(prompt: number) == nil)
    _ = try scene.show()
    #expect(scene.queue.lifting(prompt: number) == [3])
    scene.daemon.isLockerUp = true
    scene.queue.stateChanged()
    #expect(scene.queue.lifting(prompt: number) == nil)
  }

  @Test("what is answered already is asked of nobody")
  func answered() throws {
    let scene = try Scene()
    scene.daemon.open = [.login]
    withExtendedLifetime(scene.ask(.login, "client")) {
      #expect(scene.daemon.launched.isEmpty && scene.ended.isEmpty)
      for _ in 0..<10 where scene.ended.isEmpty { _ = try? scene.loop.runOnce(timeout: .seconds(1)) }
    }
    #expect(scene.ended == ["client"] && scene.daemon.launched.isEmpty)
  }

  @Test("items' questions are each client's own, and what PAM accepted is told once, by who showed it")
  func items() throws {
    let scene = try Scene()
    scene.daemon.access = try AccessControl(text: "user-presence,application-password")
    _ = scene.ask(.item(7, client: ":1.1"), "first")
    _ = scene.ask(.item(7, client: ":1.2"), "second")
    _ = scene.ask(.newItemPassphrase(1), "third")
    #expect(scene.daemon.launched.count == 1)
    let first = try scene.show()
    #expect(first.request.purpose == .item && first.request.access == scene.daemon.access)
    scene.queue.ended(on: Screen(), .accepted)
    #expect(scene.daemon.accepted.isEmpty && scene.ended.isEmpty)
    scene.queue.keep(Answer("first"), prompt: scene.daemon.launched[0])
    scene.queue.ended(on: first.screen, .accepted)
    scene.queue.ended(on: first.screen, .accepted)
    #expect(scene.daemon.answers == ["first"])
    #expect(scene.daemon.accepted == [.item(7, client: ":1.1")] && scene.ended == ["first"])
    let second = try scene.show()
    weak var kept: Answer?
    do {
      let answer = Answer("second")
      kept = answer
      scene.queue.keep(answer, prompt: scene.daemon.launched[1])
    }
    #expect(kept != nil)
    scene.queue.ended(on: second.screen)
    #expect(kept == nil, "what did not come to a good end gives nothing")
    #expect(scene.daemon.accepted.count == 1 && scene.ended == ["first", "second"])
    let third = try scene.show()
    scene.queue.keep(Answer("third"), prompt: scene.daemon.launched[2])
    #expect(third.request.purpose == .newItemPassphrase)
    _ = scene.ask(.collection(2), "other")
    scene.queue.keysErased()
    #expect(third.screen.wasWithdrawn && scene.ended == ["first", "second", "third"])
    #expect(try scene.show().request.purpose == .collection, "what is no item's goes on")
    scene.queue.ended(on: third.screen, .accepted)
    #expect(scene.daemon.accepted.count == 1, "what was withdrawn says nothing more")
  }

  @Test("where the login has no password, nobody is asked for it")
  func openWithoutAsking() throws {
    let scene = try Scene()
    scene.daemon.marked = [3, 4]
    scene.daemon.needsNobody = true
    withExtendedLifetime(scene.ask(.login, "client", lifting: [3])) {
      for _ in 0..<10 where scene.ended.isEmpty { _ = try? scene.loop.runOnce(timeout: .seconds(1)) }
    }
    #expect(scene.ended == ["client"] && scene.daemon.marked == [4] && scene.daemon.launched.isEmpty)
    _ = scene.ask(.collection(2), "other")
    #expect(scene.daemon.launched.count == 1)
  }

  @Test("who is told of an answer, and asks again, has a prompt of its own")
  func askedAgain() throws {
    let scene = try Scene()
    var second: PromptTicket?
    let first = scene.queue.ask(.login, lifting: [], for: .unknown) { [unowned scene] in
      scene.daemon.open = []
      second = scene.ask(.login, "again", lifting: [4])
    }
    let (screen, _) = try scene.show()
    scene.daemon.open = [.login]
    scene.queue.stateChanged()
    #expect(screen.wasWithdrawn && scene.daemon.launched.count == 2)
    let (next, _) = try scene.show()
    #expect(scene.queue.lifting(prompt: scene.daemon.launched[1]) == [4])
    scene.queue.ended(on: next)
    #expect(scene.ended == ["again"])
    withExtendedLifetime((first, second)) {}
  }

  @Test("behind a locker nothing is shown, and what was is shown again under another number")
  func locker() throws {
    let scene = try Scene()
    scene.daemon.isLockerUp = true
    _ = scene.ask(.login, "client")
    #expect(scene.daemon.launched.isEmpty)
    scene.daemon.isLockerUp = false
    scene.queue.stateChanged()
    let (screen, _) = try scene.show()
    let number = scene.daemon.launched[0]
    scene.daemon.isLockerUp = true
    scene.queue.stateChanged()
    #expect(screen.wasWithdrawn && scene.ended.isEmpty && scene.queue.question(ofPrompt: number) == nil)
    // What the withdrawn program says late counts for nothing.
    scene.queue.ended(on: screen)
    #expect(scene.ended.isEmpty)
    scene.daemon.isLockerUp = false
    scene.queue.stateChanged()
    #expect(scene.daemon.launched.count == 2 && scene.daemon.launched[1] != number)
    #expect(scene.queue.show(number, on: Screen()) == nil)
    #expect(scene.queue.show(scene.daemon.launched[1], on: Screen()) != nil)
    #expect(scene.queue.show(scene.daemon.launched[1], on: Screen()) == nil, "one program for a prompt")
  }

  @Test("a program that cannot be started ends the question, after ask has returned")
  func notStarted() throws {
    let scene = try Scene()
    scene.daemon.cannotLaunch = true
    _ = scene.ask(.login, "client")
    #expect(scene.ended.isEmpty)
    for _ in 0..<10 where scene.ended.isEmpty { try scene.loop.runOnce(timeout: .seconds(1)) }
    #expect(scene.ended == ["client"])
  }

  @Test("a client that waits no more is not told, and the last one takes the prompt with it")
  func cancelled() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first")
    let second = scene.ask(.login, "second")
    let (screen, _) = try scene.show()
    scene.queue.cancel(first)
    #expect(!screen.wasWithdrawn)
    scene.queue.cancel(second)
    #expect(screen.wasWithdrawn && scene.ended.isEmpty)
    _ = scene.ask(.login, "third")
    #expect(scene.daemon.launched.count == 2)
  }

  @Test("a prompt goes with the client that it names, and is shown anew for the next")
  func namedClientGone() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first", for: Caller(application: "editor"))
    let second = scene.ask(.login, "second", for: Caller(application: "mail"))
    let third = scene.ask(.login, "third", for: Caller(application: "mail"))
    let (screen, request) = try scene.show()
    #expect(request.caller == "editor")
    scene.queue.cancel(first)
    #expect(screen.wasWithdrawn && scene.daemon.launched.count == 2)
    let next = try scene.show()
    #expect(next.request.caller == "mail")
    // Of the same name, and where the same person is asked: nothing to show anew.
    scene.queue.cancel(second)
    #expect(!next.screen.wasWithdrawn && scene.daemon.launched.count == 2)
    scene.queue.ended(on: next.screen)
    #expect(scene.ended == ["third"])
    withExtendedLifetime(third) {}
  }

  @Test("who has what he waits for is told, whatever others still want of the same prompt")
  func partlyAnswered() throws {
    let scene = try Scene()
    scene.daemon.marked = [3]
    let first = scene.ask(.login, "all of it", lifting: [3])
    let second = scene.ask(.login, "the session")
    let (screen, _) = try scene.show()
    scene.daemon.open = [.login]
    scene.queue.stateChanged()
    #expect(scene.ended == ["the session"] && !screen.wasWithdrawn)
    scene.daemon.marked = []
    scene.queue.stateChanged()
    #expect(scene.ended == ["the session", "all of it"] && screen.wasWithdrawn)
    withExtendedLifetime((first, second)) {}
  }

  @Test("the end of a program that is gone ends its question only")
  func gone() throws {
    let scene = try Scene()
    _ = scene.ask(.login, "login")
    let (screen, _) = try scene.show()
    scene.queue.ended(on: Screen())
    #expect(scene.ended.isEmpty)
    scene.queue.ended(on: screen)
    #expect(scene.ended == ["login"])
  }

  @Test("a prompt of the caller's own stands beside the queue")
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

  @Test("each question's end is told once, with how it came and who had asked")
  func ends() throws {
    let item = Question.item(7, client: ":1.1")
    let ways: [(PromptEnd, (Scene, PromptTicket) throws -> Void)] = [
      (.granted, { scene, _ in scene.queue.ended(on: try scene.show().screen, .accepted) }),
      (
        .outdated,
        { scene, _ in
          scene.daemon.counts = false
          scene.queue.ended(on: try scene.show().screen, .accepted)
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
      (.locked, { scene, _ in scene.queue.keysErased() }),
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
      scene.queue.keysErased()
      #expect(scene.daemon.ends.count == 1)
    }
  }

  @Test("a question that needs nobody, or that is only put off, has no end")
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

  @Test("who could not be shown anything is told apart")
  func notLaunched() throws {
    let scene = try Scene()
    scene.daemon.cannotLaunch = true
    _ = scene.ask(.item(1, client: ":1.1"), "client", for: Caller(application: "mail"))
    for _ in 0..<10 where scene.ended.isEmpty { _ = try scene.loop.runOnce(timeout: .seconds(1)) }
    #expect(scene.daemon.ends.map(\.end) == [.unavailable])
  }
}
