import LatchkeyControl

/// Only tries to unlock: nothing is created by it, and nothing changed but that keys go that nothing depends on, and that one of two
/// passwords is proven where no session will follow that does.
struct Authentication: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    let daemon = try run.daemon.client()
    if let result = try run.daemon.greet(daemon, .authenticate) { return result }
    let keybag = try run.keybags.load()
    // Of a single password only a second login says that it stays. A daemon that does not say how it is stops no unlock.
    let proves = run.request.mayCreate && keybag.passwordCount > 1 && (try? isLastStep()) ?? false
    return try KeybagUnlock(run).unlock(keybag, at: daemon, proving: proves)
  }

  /// Whether this is all that there is of the authentication, as with a screen locker or a prompt.
  private func isLastStep() throws(ControlError) -> Bool {
    guard !run.request.isUnlock else { return true }
    // On a separate connection, so that a late answer is not taken for that to the next request.
    return try run.daemon.client().ask(GetStatus(), until: run.daemon.deadline()).state == .locked
  }
}
