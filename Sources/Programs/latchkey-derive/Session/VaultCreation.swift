import LatchkeyControl
import LatchkeyKeybag

/// Creates the vault in an open session and unlocks it. A person was asked for the login password, and the whole stack has accepted
/// it. If the vault exists by now, it is unlocked, as after any other prompt.
struct VaultCreation {
  let run: Run

  func perform() throws -> DeriveResult {
    guard run.mayTrustToken else { return .noVault }
    let daemon = try run.daemon.client()
    // The daemon is asked first, because a vault that may not be unlocked now must not be created now.
    if let result = try run.daemon.greet(daemon, .authenticate) { return result }
    let opened: Keybag.Opened
    do throws(KeybagError) {
      guard try run.keybags.presence() == .absent else { throw .alreadyThere }
      opened = try run.keybags.create { () throws(KeybagError) in
        try daemon.derive { () throws(KeybagError) in
          try Keybag.create(password: run.request.token, cost: .measured())
        }
      }
    } catch {
      // A login, or another prompt, has created the vault.
      guard error == .alreadyThere, (try? run.keybags.presence()) == .present else { throw error }
      return try KeybagUnlock(run: run).unlock(try run.keybags.load(), at: daemon, proving: false)
    }
    let result = try run.daemon.deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    try? run.keybags.confirm(opened)
    return .created
  }
}
