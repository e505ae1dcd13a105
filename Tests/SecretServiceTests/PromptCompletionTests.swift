import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeyVault
import Testing

@testable import LatchkeySecretService

/// Prompts from `Unlock` to `Completed`, for a vault in memory and without a session.
@Suite("The end of a prompt", .timeLimit(.minutes(20))) struct PromptCompletionTests {
  private let scene: ServiceScene
  private let id: Int64
  private let path: String

  init() throws {
    scene = try ServiceScene()
    (id, path) = try scene.add("guarded", flags: 1)
  }

  private func unlock() throws -> String {
    let (unlocked, prompt) = try scene.ask("Unlock", [path])
    #expect(unlocked.isEmpty && prompt != "/")
    return prompt
  }

  private func dismissed(_ outcome: String?) -> ServiceScene.End {
    ServiceScene.End(outcome: outcome, dismissed: true, result: [])
  }

  /// Makes the daemon grant each answer that PAM accepted.
  private func grantWhatIsAccepted() {
    scene.owner.accept = { [scene, id] question, caller in
      guard question == .item(id, client: scene.clientName), let grant = try? scene.vault.reader.grant(item: id) else {
        return false
      }
      scene.service.answers.add(grant, for: scene.clientName, caller, reuse: 0)
      return true
    }
  }

  @Test("The end of a prompt is the requested access, once a person answered")
  func accepted() throws {
    grantWhatIsAccepted()
    let end = try scene.end(of: try unlock()) { try scene.answer(.granted) }
    #expect(end == ServiceScene.End(outcome: "accepted", dismissed: false, result: [path]))
    #expect(try scene.ask("Unlock", [path]).done == [path])
    #expect(scene.owner.launched.count == 1)
  }

  @Test(
    "The end of a prompt has a word for each kind",
    arguments: [
      (PromptEnd.refused, PromptOutcome.refused), (.dismissed, .dismissed), (.unavailable, .unavailable),
      (.expired, .expired), (nil, .unavailable),
    ] as [(PromptEnd?, PromptOutcome)])
  func words(_ said: PromptEnd?, _ told: PromptOutcome) throws {
    #expect(try scene.end(of: try unlock()) { try scene.answer(said) } == dismissed(told.rawValue))
    #expect(scene.owner.launched.count == 1)
  }

  @Test("The end of a prompt is no access if the daemon rejects the answer that PAM accepted")
  func outdated() throws {
    scene.owner.accept = { _, _ in false }
    #expect(try scene.end(of: try unlock()) { try scene.answer(.granted) } == dismissed("withdrawn"))
  }

  @Test("The end of a prompt comes before anybody is asked, if other fingers are enrolled")
  func fingers() throws {
    scene.owner.obstacle = .fingers
    #expect(try scene.end(of: try unlock()) == dismissed("fingers"))
    #expect(scene.owner.launched.isEmpty)
  }

  @Test("The end of a prompt reaches a client of the standard's interface only by Completed")
  func standard() throws {
    #expect(try scene.end(of: try unlock(), told: false) { try scene.answer(.dismissed) } == dismissed(nil))
  }

  @Test("The end of a prompt comes when its client dismisses it, and when everything is locked")
  func withdrawn() throws {
    let own = try unlock()
    let dismissal = try scene.end(of: own) { _ = try scene.call(own, ServiceScene.prompt, "Dismiss") }
    #expect(dismissal == dismissed("withdrawn"))
    #expect(try scene.end(of: try unlock()) { scene.service.endGrantsAndRequests() } == dismissed("withdrawn"))
  }

  @Test("The end of a prompt comes without a question if the item was opened by other means meanwhile")
  func meanwhile() throws {
    let prompt = try unlock()
    try scene.grant(id)
    #expect(try scene.end(of: prompt) == ServiceScene.End(outcome: "accepted", dismissed: false, result: [path]))
    #expect(scene.owner.launched.isEmpty)
  }

  @Test("The end of a prompt comes once, and afterwards the prompt is gone")
  func once() throws {
    let prompt = try unlock()
    _ = try scene.end(of: prompt) { try scene.answer(.dismissed) }
    let again = try scene.error {
      _ = try scene.call(prompt, ServiceScene.prompt, "Prompt") { $0.appendString("") }
    }
    #expect(again == "org.freedesktop.Secret.Error.NoSuchObject")
  }
}
