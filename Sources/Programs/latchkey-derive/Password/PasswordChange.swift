import LatchkeyKeybag

/// The change of the login password. It is unknown whether the system accepts the new password, so both passwords open the vault
/// until a login proves one of them. The daemon has no part in this change.
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

  /// Handles a former password that opens nothing, because it was set without the vault. The new password may be one that the vault
  /// knows already. If not, the new password opens nothing either.
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
