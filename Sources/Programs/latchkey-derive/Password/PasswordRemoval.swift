import LatchkeyControl
import LatchkeyKeybag

/// The removal of the login password. If the old password still opens the vault, the device key opens it from now on. The items
/// that depend on the password are destroyed. The removal is believed unless the system still has a password.
struct PasswordRemoval {
  let run: Run

  func perform() throws -> DeriveResult {
    guard run.login != .some else { return .nothingNeeded }
    guard try run.keybags.presence() == .present else { return .noVault }
    let daemon = try run.daemon.connect()
    var failure: (any Error)?
    if run.request.token.count > 0 {
      do { try standOnDevice(daemon) } catch { failure = error }
    }
    // These items are destroyed even if the keybag could not be changed.
    let result = try run.daemon.endPasscodeItems(at: daemon)
    if let failure { throw failure }
    return result
  }

  private func standOnDevice(_ daemon: borrowing ControlClient) throws {
    let keybag = try run.keybags.load()
    guard !keybag.isPasswordless else { return }
    let opened = try keybag.open(password: run.request.token)
    let secret = try daemon.newDeviceSecret(vault: keybag.vault, until: run.daemon.deadline())
    let folder = try run.keybags.folder()
    let next = try opened.removingPassword(secret, isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
    try KeybagFile.replace(keybag, with: next, in: folder)
  }
}
