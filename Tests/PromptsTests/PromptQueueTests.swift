import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd
import Testing

@Suite(.timeLimit(.minutes(20))) struct PromptQueueTests {
  @Test("clients that wait for the same answer share one prompt; other questions come one after the other")
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
    // After a prompt leaves the screen, the next one waits a moment, even if a client caused the end by deleting its item.
    #expect(scene.daemon.launched.count == 1)
    scene.turn(untilLaunched: 2)
    let next = try scene.show()
    #expect(next.request.purpose == .collection && next.request.label == "collection 2")
    scene.queue.ended(on: next.screen)
    #expect(scene.ended == ["first", "second", "other"])
  }

  @Test("a prompt opens nothing while it is off the screen")
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

  @Test("a question that is already answered asks nobody")
  func answered() throws {
    let scene = try Scene()
    scene.daemon.open = [.login]
    withExtendedLifetime(scene.ask(.login, "client")) {
      #expect(scene.daemon.launched.isEmpty && scene.ended.isEmpty)
      for _ in 0..<10 where scene.ended.isEmpty { _ = try? scene.loop.runOnce(timeout: .seconds(1)) }
    }
    #expect(scene.ended == ["client"] && scene.daemon.launched.isEmpty)
  }

  @Test("each client has its own question about an item, and the program that showed it reports its answer once")
  func items() throws {
    let scene = try Scene()
    scene.daemon.access = try AccessControl(text: "user-presence,application-password")
    _ = scene.ask(.item(7, client: ":1.1"), "first")
    _ = scene.ask(.item(7, client: ":1.2"), "second")
    let waiting = scene.ask(.newItemPassphrase(1, client: ":1.3"), "third")
    #expect(scene.daemon.launched.count == 1)
    let first = try scene.show()
    #expect(first.request.purpose == .item && first.request.access == scene.daemon.access)
    scene.queue.ended(on: Screen(), .granted)
    #expect(scene.daemon.accepted.isEmpty && scene.ended.isEmpty)
    scene.queue.keep(Answer("first"), prompt: scene.daemon.launched[0])
    scene.queue.ended(on: first.screen, .granted)
    scene.queue.ended(on: first.screen, .granted)
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
    // Only the client that wants it ends a question for a new passphrase.
    scene.queue.locked { _ in true }
    #expect(!third.screen.wasWithdrawn)
    scene.queue.cancel(waiting)
    #expect(third.screen.wasWithdrawn && scene.ended == ["first", "second"])
    scene.turn(untilLaunched: 4)
    #expect(try scene.show().request.purpose == .collection, "what is no item's goes on")
    scene.queue.ended(on: third.screen, .granted)
    #expect(scene.daemon.accepted.count == 1, "what was withdrawn says nothing more")
  }

  @Test("the time for reading again in the prompt is the time that the answer is good for")
  func reuse() throws {
    let scene = try Scene()
    scene.daemon.access = try AccessControl(text: "user-presence")
    scene.daemon.reuse = 120
    _ = scene.ask(.item(7, client: ":1.1"), "client")
    let (screen, request) = try scene.show()
    scene.daemon.reuse = 300
    scene.queue.ended(on: screen, .granted)
    #expect(request.reuse == 120 && scene.daemon.shown.map(\.reuse) == [120])
  }

  @Test("questions are shown in the order in which they came")
  func order() throws {
    let scene = try Scene()
    for item in 0..<3 { _ = scene.ask(.item(Int64(item), client: ":1.1"), "first \(item)") }
    _ = scene.ask(.item(100, client: ":1.2"), "second")
    _ = scene.ask(.login, "login")
    for _ in 0..<5 { scene.queue.ended(on: try scene.show().screen, .granted) }
    #expect(scene.ended == ["first 0", "first 1", "first 2", "second", "login"])
  }

  @Test("questions beyond the limit are refused at once")
  func waitingLimit() throws {
    let scene = try Scene()
    var tickets: [PromptTicket] = []
    for item in 0..<300 { tickets.append(scene.ask(.item(Int64(item), client: ":1.\(item)"), "\(item)")) }
    withExtendedLifetime(tickets) { scene.turn(until: 44) }
    #expect(Set(scene.ended) == Set((256..<300).map { "\($0)" }))
    scene.queue.ended(on: try scene.show().screen, .granted)
    tickets.append(scene.ask(.item(300, client: ":1.300"), "later"))
    withExtendedLifetime(tickets) { scene.queue.cancel(tickets) }
    #expect(scene.ended.count == 45, "there was room again")
  }

  @Test("clients with a waiting question share its prompt, however many there are")
  func sharedAboveLimit() throws {
    let scene = try Scene()
    var tickets = [scene.ask(.login, "first")]
    for item in 0..<300 { tickets.append(scene.ask(.item(Int64(item), client: ":1.\(item)"), "\(item)")) }
    tickets.append(scene.ask(.login, "second"))
    withExtendedLifetime(tickets) { scene.turn(until: 45) }
    #expect(Set(scene.ended) == Set((255..<300).map { "\($0)" }))
    scene.queue.ended(on: try scene.show().screen, .granted)
    #expect(scene.ended.suffix(2) == ["first", "second"])
    withExtendedLifetime(tickets) { scene.queue.cancel(tickets) }
  }

  @Test("a declined client that asks again gets a new prompt, so that the person sees each question")
  func declined() throws {
    let scene = try Scene()
    for number in 1...5 {
      _ = scene.ask(.item(7, client: ":1.1"), "\(number)")
      scene.queue.ended(on: try scene.show().screen, .dismissed)
    }
    #expect(scene.ended == ["1", "2", "3", "4", "5"] && scene.daemon.launched.count == 5)
  }

  @Test("wrong passphrases of one item count over all prompts and clients")
  func wrongAnswers() throws {
    let scene = try Scene()
    for client in [":1.1", ":1.2"] {
      _ = scene.ask(.item(7, client: client), client)
      let (screen, _) = try scene.show()
      for _ in 0..<2 { scene.queue.wasWrong(prompt: try #require(scene.daemon.launched.last)) }
      scene.queue.ended(on: screen)
    }
    _ = scene.ask(.itemAccess(7, 1, client: ":1.3"), "third")
    let (screen, _) = try scene.show()
    _ = scene.ask(.item(7, client: ":1.4"), "fourth")
    _ = scene.ask(.item(8, client: ":1.4"), "other item")
    scene.queue.wasWrong(prompt: try #require(scene.daemon.launched.last))
    #expect(screen.wasWithdrawn && scene.ended == [":1.1", ":1.2", "third", "fourth"])
    scene.turn(untilLaunched: scene.daemon.launched.count + 1)
    scene.queue.ended(on: try scene.show().screen, .granted)
    let shown = scene.daemon.launched.count
    #expect(scene.queue.isPaused(.item(7, client: ":1.5")) && !scene.queue.isPaused(.collection(7)))
    let ticket = scene.ask(.item(7, client: ":1.5"), "fifth")
    withExtendedLifetime(ticket) { scene.turn(until: 6) }
    #expect(scene.ended.last == "fifth" && scene.daemon.launched.count == shown)
    scene.pass(.seconds(31))
    _ = scene.ask(.item(7, client: ":1.5"), "sixth")
    #expect(scene.daemon.launched.count == shown + 1)
  }

  @Test("a prompt is shown after a check, and its answer counts after a second check")
  func checked() throws {
    let scene = try Scene()
    let item = Question.item(7, client: ":1.1")
    func answer(_ stands: Bool) throws {
      let waiting = scene.daemon.checks?.popLast()
      let check = try #require(waiting)
      check(stands ? nil : .fingers)
    }
    scene.daemon.checks = []
    _ = scene.ask(item, "first")
    #expect(scene.daemon.launched.isEmpty)
    try answer(true)
    var shown = try scene.show()
    scene.queue.keep(Answer("first"), prompt: scene.daemon.launched[0])
    _ = scene.ask(.collection(2), "other")
    scene.queue.ended(on: shown.screen, .granted)
    #expect(scene.daemon.accepted.isEmpty && scene.ended.isEmpty && scene.daemon.launched.count == 1)
    try answer(true)
    #expect(scene.daemon.answers == ["first"] && scene.ended == ["first"] && !shown.screen.wasWithdrawn)
    // The other question has its turn, but the check refuses that question.
    try answer(false)
    for _ in 0..<10 where scene.ended.count == 1 { _ = try? scene.loop.runOnce(timeout: .seconds(1)) }
    #expect(scene.ended == ["first", "other"] && scene.daemon.launched.count == 1)

    // If the second check refuses the question, the person's answer opens nothing.
    let refused = scene.ask(item, "refused")
    try answer(true)
    shown = try scene.show()
    scene.queue.ended(on: shown.screen, .granted)
    try answer(false)
    #expect(scene.daemon.accepted.count == 1 && scene.ended.last == "refused")
    #expect(scene.daemon.ends.last?.end == .fingers)
    scene.queue.cancel(refused)

    // An answer does not count if the keys were erased meanwhile or the client has left.
    let ends: [(PromptTicket) -> Void] = [
      { _ in scene.queue.locked { _ in true } }, { scene.queue.cancel($0) },
    ]
    for (number, end) in ends.enumerated() {
      for isShown in [false, true] {
        let ticket = scene.ask(item, "\(number)")
        if isShown {
          try answer(true)
          scene.queue.ended(on: try scene.show().screen, .granted)
        }
        let launched = scene.daemon.launched.count
        end(ticket)
        try answer(true)
        #expect(scene.daemon.accepted.count == 1 && scene.daemon.launched.count == launched)
      }
    }
    #expect(scene.ended.suffix(2) == ["0", "0"])

    // The answer to an earlier check does not count for this prompt.
    _ = scene.ask(item, "again")
    let waiting = scene.daemon.checks?.popLast()
    let late = try #require(waiting)
    scene.daemon.isLockerUp = true
    scene.queue.stateChanged()
    scene.daemon.isLockerUp = false
    scene.queue.stateChanged()
    let launched = scene.daemon.launched.count
    late(nil)
    #expect(scene.daemon.launched.count == launched)
    try answer(true)
    #expect(scene.daemon.launched.count == launched + 1)
  }

  @Test("if the login has no password, nobody is asked for one")
  func openWithoutAsking() throws {
    let scene = try Scene()
    scene.daemon.lockedExplicitly = [3, 4]
    scene.daemon.needsNobody = true
    withExtendedLifetime(scene.ask(.login, "client", lifting: [3])) {
      for _ in 0..<10 where scene.ended.isEmpty { _ = try? scene.loop.runOnce(timeout: .seconds(1)) }
    }
    #expect(scene.ended == ["client"] && scene.daemon.lockedExplicitly == [4] && scene.daemon.launched.isEmpty)
    _ = scene.ask(.collection(2), "other")
    #expect(scene.daemon.launched.count == 1)
  }

  @Test("clients are told when the prompt has left the screen, unless they have left")
  func leaving() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first")
    let second = scene.ask(.login, "second")
    let (screen, _) = try scene.show()
    screen.lingers = true
    scene.daemon.open = [.login]
    scene.queue.stateChanged()
    #expect(screen.wasWithdrawn && scene.ended.isEmpty)
    scene.queue.cancel(first)
    screen.leave?()
    #expect(scene.ended == ["second"])
    withExtendedLifetime(second) {}
  }

  @Test("a daemon that ends waits until every prompt has left the screen, and shows no other")
  func ending() throws {
    let scene = try Scene()
    let first = scene.ask(.login, "first")
    let second = scene.ask(.collection(2), "second")
    let (screen, _) = try scene.show()
    screen.lingers = true
    let own = Screen()
    own.lingers = true
    _ = scene.queue.open(.newPassphrase(3), on: own)
    var gone = 0
    scene.queue.end { gone += 1 }
    #expect(screen.wasWithdrawn && own.wasWithdrawn && gone == 0)
    scene.queue.stateChanged()
    let third = scene.ask(.login, "third")
    // The queue does not wait for a prompt that a command shows by itself.
    screen.leave?()
    own.leave?()
    #expect(gone == 1 && scene.ended.isEmpty && scene.daemon.launched.count == 1)
    // A second request to end does not wait.
    scene.queue.end { gone += 1 }
    #expect(gone == 2)
    withExtendedLifetime([first, second, third]) {}
  }

  @Test("a client that hears of an answer and asks again gets a prompt of its own")
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
    #expect(screen.wasWithdrawn)
    scene.turn(untilLaunched: 2)
    let (next, _) = try scene.show()
    #expect(scene.queue.lifting(prompt: scene.daemon.launched[1]) == [4])
    scene.queue.ended(on: next)
    #expect(scene.ended == ["again"])
    withExtendedLifetime((first, second)) {}
  }

  @Test("behind a locker nothing is shown, and a withdrawn prompt is shown again under another number")
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
    // A late answer of the withdrawn program does not count.
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
}
