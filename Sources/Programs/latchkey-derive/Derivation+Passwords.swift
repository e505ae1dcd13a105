import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A login password that becomes another one, with Latchkey or without it.
extension Derivation {
  /// The password is being changed. Whether the system takes the new one is not known yet, so both open the vault until a
  /// login shows it. The daemon has no part in that.
  borrowing func changePassword() throws -> DeriveResult {
    guard !Sodium.equal(request.token.bytes, request.second.bytes) else { return .nothingNeeded }
    let keybag = try load(from: try folder())
    guard !keybag.isPasswordless else { return .nothingNeeded }
    let opened: Keybag.Opened
    do throws(KeybagError) { opened = try keybag.open(password: request.second.bytes) } catch {
      guard error == .wrongPassword else { throw error }
      return try changeBack(keybag)
    }
    guard let next = try opened.addingPassword(request.token.bytes, cost: .measured()) else { return .nothingNeeded }
    try add(next.protectors[0], by: opened, in: try folder())
    return .unlocked
  }

  /// The former password opens nothing, as it was set elsewhere. The new one may be what the vault knows; else it opens
  /// nothing either.
  private borrowing func changeBack(_ keybag: Keybag) throws(KeybagError) -> DeriveResult {
    let opened: Keybag.Opened
    do throws(KeybagError) { opened = try keybag.open(password: request.token.bytes) } catch {
      if error == .wrongPassword, let daemon = try? ControlClient(runtime: runtime, uid: account.uid) {
        note(to: daemon)
      }
      throw error
    }
    // One that was chosen before and never used is the newest again.
    guard let next = try opened.renewing() else { return .nothingNeeded }
    try add(next.protectors[0], by: opened, in: try folder())
    return .unlocked
  }

  /// The login password, which PAM has accepted, opens nothing: the former one does, or the recovery code. From now on the
  /// present one does as well, until a login shows that it stays: the token that PAM left here may be a code that serves
  /// once.
  borrowing func rewrap() throws -> DeriveResult {
    guard request.mayCreate else { return .refused }
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    if let result = try greet(daemon, .authenticate) { return result }
    let keybag = try load(from: try folder())
    guard !keybag.isPasswordless else { return .nothingNeeded }
    let opened = try daemon.derive { () throws(KeybagError) in try openByFormer(keybag) }
    // Slow work comes before the keys: a person who waited for those may log out at once, which ends this process as well.
    let added = try daemon.derive { () throws(KeybagError) in
      try opened.addingPassword(request.token.bytes, opensNothing: true, cost: .measured())
    }
    guard let next = added else { return .nothingNeeded }
    // The new keybag must open, so it is read as the next login will read it.
    let written = try Keybag(decoding: next.encoded)
    let reopened = try daemon.derive { () throws(KeybagError) in try written.open(password: request.token.bytes) }
    guard try written.recognises(try reopened.tiers()), try written.recognises(try opened.tiers())
    else { throw KeybagError.damaged }
    // Only where its keys open the database: a keybag could have been put there together with keys of its own.
    let result = try deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    do throws(KeybagError) { try add(next.protectors[0], by: opened, in: try folder()) } catch {
      // This password will not open the vault after the next lock. The daemon is told, so that its status says so.
      note(to: daemon)
      throw error
    }
    return .unlocked
  }

  /// A code has a check in it, and costs no Argon2id.
  borrowing func openByFormer(_ keybag: Keybag) throws(KeybagError) -> Keybag.Opened {
    if keybag.recoveryCodeCreated != nil, let code = try? RecoveryCode(typed: request.second.bytes) {
      do throws(KeybagError) { return try keybag.open(code: code) } catch {
        guard error == .wrongPassword else { throw error }
      }
    }
    return try keybag.open(password: request.second.bytes)
  }

  /// Writes the keybag that has one more password in front.
  private borrowing func add(
    _ made: Protector, by opened: borrowing Keybag.Opened, in folder: borrowing Folder
  ) throws(KeybagError) {
    try rewrite(opened, in: folder) { (opened, folder) throws(KeybagError) in
      try opened.adding(made, isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
    }
  }
}
