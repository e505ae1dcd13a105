import LatchkeyControl
import LatchkeyKeybag

/// Opens the vault with its recovery code. If the code is right, the login password, which PAM has accepted, opens the vault from
/// now on.
struct Recovery {
  let run: Run

  func perform() throws -> DeriveResult {
    let daemon = try run.daemon.client()
    let opened = try run.keybags.load().open(code: try RecoveryCode(typed: run.request.token))
    let need = try run.daemon.greet(daemon, .authenticate)
    switch need {
    case nil: break
    case .nothingNeeded: try daemon.ask(CheckMayDerive(), until: run.daemon.deadline())
    case .some(let result): return result
    }
    // A vault without a password gets new keys with its first password, as at a login.
    guard !opened.keybag.isPasswordless else {
      if need == nil, let result = try failure(of: opened, at: daemon) { return result }
      let result = try FirstPassword(run: run).protect(opened, by: run.request.second, at: daemon)
      return result == .tooManyEpochs ? .unlocked : result
    }
    // The slow work comes before the delivery: until then, the daemon ends this process before the machine sleeps.
    let next = try daemon.derive { () throws(KeybagError) in
      try opened.settingPassword(run.request.second, cost: .measured())
    }
    if need == nil, let result = try failure(of: opened, at: daemon) { return result }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }

  /// The daemon's answer if it did not take the keys.
  private func failure(
    of opened: borrowing Keybag.Opened, at daemon: borrowing ControlClient
  ) throws -> DeriveResult? {
    let result = try run.daemon.deliver(opened, to: daemon)
    return result == .unlocked ? nil : result
  }
}
