import Systemd
import Vault

/// Something that a person would have to be asked for, as its client sees it. It belongs to the client that caused it,
/// is asked once, and is gone when it is completed.
final class Prompt: ClientObject {
  /// What is wanted.
  enum Purpose {
    /// These paths, as the client named them.
    case unlock([String])
  }

  let path: String
  let number: Int
  /// The unique bus name of its client.
  let owner: String
  let purpose: Purpose
  /// Set once it was asked for: the answer is on its way.
  var completion: EventSource?

  init(path: String, number: Int, owner: String, purpose: Purpose) {
    self.path = path
    self.number = number
    self.owner = owner
    self.purpose = purpose
  }
}

/// The interface `org.freedesktop.Secret.Prompt`.
extension SecretService {
  var promptInterface: ObjectInterface {
    ObjectInterface(
      Self.promptName,
      methods: [
        .init("Prompt", input: [.init("s", "window_id")], handler: performPrompt),
        .init("Dismiss", handler: dismissPrompt),
      ],
      signals: [.init("Completed", [.init("b", "dismissed"), .init("v", "result")])])
  }

  func makePrompt(_ purpose: Prompt.Purpose, for client: String) -> Prompt {
    forgetOldest(&prompts, of: client)
    let (number, path) = freshPath(below: ObjectPath.prompts)
    let prompt = Prompt(path: path, number: number, owner: client, purpose: purpose)
    prompts[prompt.path] = prompt
    watch(client)
    return prompt
  }

  private func ownPrompt(_ call: MethodCall) throws(BusError) -> Prompt {
    guard let prompt = prompts[call.path] else { throw .noSuchObject(call.path) }
    guard prompt.owner == call.sender else { throw .accessDenied("that prompt is not yours") }
    return prompt
  }

  private func performPrompt(_ call: MethodCall) throws(BusError) {
    let prompt = try ownPrompt(call)
    guard prompt.completion == nil else { throw .alreadyExists("that prompt is being answered already") }
    complete(prompt)
    call.reply()
  }

  private func dismissPrompt(_ call: MethodCall) throws(BusError) {
    let prompt = try ownPrompt(call)
    guard prompt.completion == nil else { return call.reply() }
    complete(prompt)
    call.reply()
  }

  /// Completes a prompt a moment from now: some clients listen only after their call has returned. There is nobody who
  /// could be asked, so it succeeds if what it wants is open by then, and is dismissed otherwise.
  private func complete(_ prompt: Prompt) {
    let timer = try? loop.addTimer(after: .milliseconds(80)) { [weak self] in self?.finish(prompt) }
    prompt.completion = timer
    if timer == nil { finish(prompt) }
  }

  private func finish(_ prompt: Prompt) {
    guard prompts.removeValue(forKey: prompt.path) != nil else { return }
    switch prompt.purpose {
    case .unlock(let wanted):
      let open = wanted.filter { (try? lockState($0)) == .open }
      let dismissed = open.count < wanted.count
      // The result has its type also when the prompt was dismissed: clients read it all the same.
      try? bus.emitSignal(
        path: prompt.path, interface: Self.promptName, member: "Completed", to: prompt.owner
      ) { (out: inout MessageWriter) throws(BusError) in
        try out.appendBool(dismissed)
        try out.appendVariant("ao") { (inner: inout MessageWriter) throws(BusError) in
          try inner.appendObjectPaths(dismissed ? [] : open)
        }
      }
    }
  }
}
