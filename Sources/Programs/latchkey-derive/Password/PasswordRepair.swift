import LatchkeyControl
import LatchkeyKeybag

/// Repairs a vault that the login password does not open, although PAM has accepted it. The former password, or the recovery code,
/// opens the vault. From now on, the present password also opens it. The password stays unproven until a login proves it, because
/// PAM's token may be a one-time code.
struct PasswordRepair {
  let run: Run

  func perform() throws -> DeriveResult {
    guard run.request.mayCreate else { return .refused }
    let daemon = try run.daemon.client()
    if let result = try run.daemon.greet(daemon, .authenticate) { return result }
    let keybag = try run.keybags.load()
    guard !keybag.isPasswordless else { return .nothingNeeded }
    let opened = try daemon.derive { () throws(KeybagError) in try openByFormer(keybag) }
    // The slow work comes before the delivery: a person who has waited for the keys may log out at once, which ends this process as
    // well.
    let added = try daemon.derive { () throws(KeybagError) in
      try opened.addingPassword(run.request.token, opensNothing: true, cost: .measured())
    }
    guard let next = added else { return .nothingNeeded }
    // The new keybag must open, so this program reads it in the same way as the next login.
    let written = try Keybag(decoding: next.encoded)
    let reopened = try daemon.derive { () throws(KeybagError) in
      try written.open(password: run.request.token)
    }
    guard try written.recognises(try reopened.tiers()), try written.recognises(try opened.tiers())
    else { throw KeybagError.damaged }
    // The keybag changes only if its new keys open the database. Somebody could have written a keybag with keys of their own.
    let result = try run.daemon.deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    do throws(KeybagError) { try run.keybags.add(next.protectors[0], by: opened) } catch {
      // After the next lock this password will not open the vault. The daemon is told, so that its status names the problem.
      run.daemon.noteOtherPassword(daemon)
      throw error
    }
    return .unlocked
  }

  /// Tries a recovery code first: check characters tell a code from a password, and a code needs no Argon2id.
  func openByFormer(_ keybag: Keybag) throws(KeybagError) -> Keybag.Opened {
    if keybag.recoveryCodeCreated != nil, let code = try? RecoveryCode(typed: run.request.second) {
      do throws(KeybagError) { return try keybag.open(code: code) } catch {
        guard error == .wrongPassword else { throw error }
      }
    }
    return try keybag.open(password: run.request.second)
  }
}
