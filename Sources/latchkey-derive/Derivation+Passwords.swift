import Control
import Keybag
import Posix
import Sodium

/// A login password that becomes another one, with Latchkey or without it.
extension Derivation {
  /// The password is being changed. Whether the system takes the new one is not known yet, so both open the vault until a
  /// login shows it. The daemon has no part in that.
  borrowing func changePassword() throws -> DeriveResult {
    guard !Sodium.equal(request.token.bytes, request.second.bytes) else { return .nothingNeeded }
    let folder = try folder()
    do {
      return try replacing(in: folder) { keybag throws(KeybagError) in
        guard !keybag.isPasswordless else { return nil }
        return try keybag.open(password: request.second.bytes).addingPassword(request.token.bytes)
      }
    } catch KeybagError.wrongPassword {
      // It was changed elsewhere before: the new one opens nothing either.
      if let daemon = try? ControlClient(runtime: runtime, uid: account.uid) {
        try? daemon.noteOtherPassword(until: deadline())
      }
      throw KeybagError.wrongPassword
    }
  }

  /// The login password, which PAM has accepted, opens nothing: the former one does, or the recovery code. From now on the
  /// present one does, alone.
  borrowing func rewrap() throws -> DeriveResult {
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    if let result = try greet(daemon, .authenticate) { return result }
    let folder = try folder()
    let keybag = try load(from: folder)
    guard !keybag.isPasswordless else { return .nothingNeeded }
    let opened = try openByFormer(keybag)
    // All that takes time comes before the keys: who waited for those may log out at once, which ends this as well.
    let next = try opened.settingPassword(request.token.bytes)
    // What is written is what opens: read as the next login will read it.
    let written = try Keybag(decoding: next.encoded)
    guard try written.recognises(try written.open(password: request.token.bytes).tiers()),
      try written.recognises(try opened.tiers())
    else { throw KeybagError.damaged }
    // Only where its keys open the database: a keybag could have been put there together with keys of its own.
    let result = try deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    try KeybagFile.replace(with: next, in: folder)
    return .unlocked
  }

  /// A code has a check in it, and costs no Argon2id.
  private borrowing func openByFormer(_ keybag: Keybag) throws(KeybagError) -> Keybag.Opened {
    if keybag.recoveryCodeCreated != nil, let code = try? RecoveryCode(typed: request.second.bytes) {
      do throws(KeybagError) { return try keybag.open(code: code) } catch {
        guard error == .wrongPassword else { throw error }
      }
    }
    return try keybag.open(password: request.second.bytes)
  }

  /// Writes what `change` makes of the keybag, once more where another process, as a login of the same moment, was faster.
  private borrowing func replacing(
    in folder: borrowing Folder, _ change: (Keybag) throws(KeybagError) -> Keybag?
  ) throws(KeybagError) -> DeriveResult {
    var triesLeft = 3
    while true {
      triesLeft -= 1
      guard let next = try change(try load(from: folder)) else { return .nothingNeeded }
      do throws(KeybagError) {
        try KeybagFile.replace(with: next, in: folder)
        return .unlocked
      } catch { guard error == .alreadyThere, triesLeft > 0 else { throw error } }
    }
  }
}
