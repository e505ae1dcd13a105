import LatchkeyControl
import LatchkeyKeybag
import LatchkeySodium

/// The first password of a login that had none. The vault gets new keys, because everybody with access to the machine could get the
/// former ones.
struct FirstPassword {
  let run: Run

  /// Lets the login's first password open the vault.
  func set(_ keybag: Keybag, at daemon: borrowing ControlClient) throws -> DeriveResult {
    // The daemon is not asked first whether keys could be changed now. A daemon that has just started still verifies its database,
    // and some people log in only once after a start. If keys cannot be changed now, the next unlock changes them.
    do {
      return try protect(try KeybagUnlock(run: run).open(keybag, at: daemon), by: run.request.token, at: daemon)
    } catch KeybagError.overtaken {
      // While Argon2id ran, the daemon may have opened the vault by the device key, and confirmed that there is a database. If this
      // program did not try again, the vault would have no password until the next login.
      let present = try run.keybags.load()
      guard present.isPasswordless else { throw KeybagError.overtaken }
      return try protect(try KeybagUnlock(run: run).open(present, at: daemon), by: run.request.token, at: daemon)
    }
  }

  /// Lets the first password alone open the vault, under new keys.
  func protect(
    _ opened: borrowing Keybag.Opened, by password: borrowing SecureBytes, at daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    let isAwaitingDatabase = KeybagFile.awaitsDatabase(in: try run.keybags.folder())
    let next: Keybag.Opened
    do throws(KeybagError) {
      next = try opened.rotated(password: password, isAwaitingDatabase: isAwaitingDatabase, cost: .measured())
    } catch {
      guard error == .tooManyEpochs else { throw error }
      // New keys wait until nothing depends on former keys. The password is set at once, because the vault would otherwise stay
      // without protection for ever.
      let kept = try opened.settingPassword(password, isAwaitingDatabase: isAwaitingDatabase, cost: .measured())
      try run.keybags.replace(opened.keybag, with: kept)
      // A request for its status makes the daemon read the keybag again.
      _ = try? daemon.ask(GetStatus(), until: run.daemon.deadline())
      return .tooManyEpochs
    }
    guard next.keybag.awaitsDatabase else {
      return try KeyRotation(run: run).changeKeys(of: opened.keybag, to: next, at: daemon)
    }
    try run.keybags.replace(opened.keybag, with: next.keybag)
    // There is no database yet whose keys could change. The daemon makes it with these keys.
    guard (try? run.daemon.deliver(next, to: daemon)) == .unlocked else { return .begun }
    try? run.keybags.confirm(next)
    return .unlocked
  }
}
