import LatchkeyKeybag

/// The password is being changed. Whether the system takes the new one is not known yet, so both open the vault until a
/// login shows it. The daemon has no part in that.
struct PasswordChange: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

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

  /// The former password opens nothing, as it was set elsewhere. The new one may be what the vault knows; else it opens
  /// nothing either.
  private func changeBack(_ keybag: Keybag) throws(KeybagError) -> DeriveResult {
    let opened: Keybag.Opened
    do throws(KeybagError) { opened = try keybag.open(password: run.request.token) } catch {
      if error == .wrongPassword, let daemon = try? run.daemon.client() { run.daemon.noteOtherPassword(daemon) }
      throw error
    }
    // One that was chosen before and never used is the newest again.
    guard let next = try opened.renewing() else { return .nothingNeeded }
    try run.keybags.add(next.protectors[0], by: opened)
    return .unlocked
  }
}
