import LatchkeyKeybag

/// Adds, removes or renames a protector: the password opens the keybag, and another keybag replaces it. No key changes.
struct ProtectorChange {
  let run: Run

  // MARK: - a finger, and sessions without a password

  /// Lets a finger unlock again the keys that a password has unlocked before. Replaces an existing protector of a finger.
  func addFinger(mayBeInMemory: Bool) throws -> DeriveResult {
    try change { opened in try opened.settingFinger(mayBeInMemory: mayBeInMemory) }
  }

  /// Ends the unlock by a finger.
  func removeFinger() throws -> DeriveResult { try change { opened in try opened.removingFinger() } }

  /// Lets logins without a password unlock the items that are readable behind the locked screen. It replaces an existing protector
  /// of a session.
  func addSession() throws -> DeriveResult {
    let sessions = SessionSecrets(run: run)
    return try change { opened in
      try opened.settingSession(try sessions.newSecret(of: try sessions.deviceKey(), vault: opened.keybag.vault))
    }
  }

  /// Ends the unlock at logins without a password.
  func removeSession() throws -> DeriveResult { try change { opened in try opened.removingSession() } }

  // MARK: - security keys

  /// Lets a security key open the vault, by the answer that it gave to the vault's challenge.
  func addSecurityKey() throws -> DeriveResult {
    let key = try SecurityKeyRequest.addedKey(of: run.request)
    let answer = try SecurityKeyRequest.addedAnswer(of: run.request)
    return try change { opened in try opened.addingSecurityKey(key, answer: answer) }
  }

  /// Removes a security key from the vault. The key need not be connected, because it may be lost.
  func removeSecurityKey() throws -> DeriveResult {
    let (name, _) = try SecurityKeyRequest.names(of: run.request)
    return try change { opened in try opened.removingSecurityKey(named: name) }
  }

  /// Gives a security key another name.
  func renameSecurityKey() throws -> DeriveResult {
    let (former, name) = try SecurityKeyRequest.names(of: run.request)
    guard SecurityKey.isName(name) else { return .badRequest }
    return try change { opened in try opened.renamingSecurityKey(former, to: name) }
  }

  // MARK: - the recovery code

  /// Removes the recovery code. A vault without a password can have a code, too.
  func removeRecoveryCode() throws -> DeriveResult {
    let opened = try KeybagUnlock(run: run).openForCommand(try run.keybags.load())
    return try replace(opened) { opened in try opened.removingRecoveryCode() }
  }

  // MARK: - the keybag

  private func change(_ next: (borrowing Keybag.Opened) throws -> Keybag?) throws -> DeriveResult {
    guard let opened = try SessionSecrets(run: run).openByPassword(try run.keybags.load()) else {
      return .nothingNeeded
    }
    return try replace(opened, next)
  }

  /// - Parameter next: makes the next keybag; nil if there is nothing to change. It throws `alreadyThere` if another security key
  ///   has the name or the credential.
  private func replace(
    _ opened: borrowing Keybag.Opened, _ next: (borrowing Keybag.Opened) throws -> Keybag?
  ) throws -> DeriveResult {
    let made: Keybag?
    do { made = try next(opened) } catch KeybagError.alreadyThere { return .nothingNeeded }
    guard let made else { return .nothingNeeded }
    try run.keybags.replace(opened.keybag, with: made)
    return .unlocked
  }
}
