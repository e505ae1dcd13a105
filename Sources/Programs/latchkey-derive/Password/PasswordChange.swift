import LatchkeyKeybag

/// The change of the login password. This program cannot know whether the system accepts the new password. So both passwords open
/// the vault until a login proves one of them. The daemon has no part in this change.
struct PasswordChange {
  let run: Run

  func perform() throws -> DeriveResult {
    guard !run.request.hasSameSecrets else { return .nothingNeeded }
    let keybag = try run.keybags.load()
    guard !keybag.isPasswordless else { return .nothingNeeded }
    let opened: Keybag.Opened
    do throws(KeybagError) { opened = try keybag.open(password: run.request.second) } catch {
      guard error == .wrongPassword else { throw error }
      return try changeBack(keybag)
    }
    guard let next = try opened.addingPassword(run.request.token, cost: .measured()) else {
      return .nothingNeeded
    }
    try run.keybags.add(next.protectors[0], by: opened)
    return .unlocked
  }

  /// Handles a former password that does not open the vault, because it was set without Latchkey. The vault may know the new
  /// password already. If not, the new one does not open the vault either.
  private func changeBack(_ keybag: Keybag) throws(KeybagError) -> DeriveResult {
    let opened: Keybag.Opened
    do throws(KeybagError) { opened = try keybag.open(password: run.request.token) } catch {
      if error == .wrongPassword, let daemon = try? run.daemon.client() { run.daemon.noteOtherPassword(daemon) }
      throw error
    }
    // A password that was chosen before, and never used, becomes the newest again.
    guard let next = try opened.renewing() else { return .nothingNeeded }
    try run.keybags.add(next.protectors[0], by: opened)
    return .unlocked
  }
}
