import LatchkeyControl
import LatchkeyKeybag

/// The whole stack has accepted the password that a person was asked for because there is no vault: creates it, and unlocks it. A
/// vault that is there by now is unlocked as by any other prompt.
struct VaultCreation: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    guard run.mayTrustToken else { return .noVault }
    let daemon = try run.daemon.client()
    // Asked first: a vault that may not be unlocked now is not created now.
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
      // A login, or another prompt, was faster.
      guard error == .alreadyThere, (try? run.keybags.presence()) == .present else { throw error }
      return try KeybagUnlock(run).unlock(try run.keybags.load(), at: daemon, proving: false)
    }
    let result = try run.daemon.deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    try? run.keybags.confirm(opened)
    return .created
  }
}
