import LatchkeyControl

/// Tries to unlock the vault, and creates nothing. It changes the keybag only to leave out keys that nothing depends on, and to
/// prove one of two passwords if no later session will.
struct Authentication {
  let run: Run

  func perform() throws -> DeriveResult {
    let daemon = try run.daemon.client()
    if let result = try run.daemon.greet(daemon, .authenticate) { return result }
    let keybag = try run.keybags.load()
    // A single password is proven only at a second login. If the daemon does not answer, the unlock continues and proves nothing.
    let proves = run.request.mayCreate && keybag.passwordCount > 1 && (try? isLastStep()) ?? false
    return try KeybagUnlock(run: run).unlock(keybag, at: daemon, proving: proves)
  }

  /// Whether no session follows this authentication, because it is for a screen locker or a prompt.
  private func isLastStep() throws(ControlError) -> Bool {
    guard !run.request.isUnlock else { return true }
    // The question has a connection of its own, so that a late answer is not taken for the answer to the next request.
    return try run.daemon.client().ask(GetStatus(), until: run.daemon.deadline()).state == .locked
  }
}
