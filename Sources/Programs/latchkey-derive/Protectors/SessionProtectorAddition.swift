import LatchkeyKeybag

/// Lets logins without a password unlock the items that are readable behind the locked screen. Replaces an existing protector of a
/// session.
struct SessionProtectorAddition: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    let sessions = SessionSecrets(run)
    guard let opened = try sessions.openByPassword(try run.keybags.load()) else { return .nothingNeeded }
    let secret = try sessions.newSecret(of: try sessions.deviceKey(), vault: opened.keybag.vault)
    try run.keybags.replace(opened.keybag, with: try opened.settingSession(secret))
    return .unlocked
  }
}
