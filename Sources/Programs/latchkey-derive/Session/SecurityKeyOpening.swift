import LatchkeyControl
import LatchkeyKeybag

/// Unlocks the vault by the answer of a security key. It proves no password.
struct SecurityKeyOpening {
  let run: Run

  func perform() throws -> DeriveResult {
    let answer = try SecurityKeyRequest.answer(of: run.request)
    let daemon = try run.daemon.client()
    if let result = try run.daemon.greet(daemon, .authenticate) { return result }
    let keybag = try run.keybags.load()
    let opened = try keybag.open(securityKeyAnswer: answer)
    return try KeybagUnlock(run: run).finish(opened, of: keybag, at: daemon, proving: false)
  }
}
