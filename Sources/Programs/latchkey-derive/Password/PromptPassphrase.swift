import LatchkeyControl
import LatchkeyKeybag

/// Turns a collection's passphrase into its key, for one prompt. It does not use the keybag.
struct PromptPassphrase {
  let run: Run

  func perform() throws -> DeriveResult {
    let request = GetDerivation(prompt: run.request.prompt, given: run.request.given)
    let daemon = try run.daemon.client()
    let derivation = try daemon.ask(request, until: run.daemon.deadline())
    let derived = try daemon.derive { () throws(KeybagError) in try derivation.key(run.request.token) }
    let key = PassphraseKey(prompt: run.request.prompt, key: derived)
    return switch try daemon.deliver(key, until: run.daemon.deadline()) {
    case .live: .unlocked
    case .wrongKeys: .wrongPassword
    // Staged keys have not opened anything yet.
    case .refused, .staged: .refused
    case .unusable: .damaged
    }
  }
}
