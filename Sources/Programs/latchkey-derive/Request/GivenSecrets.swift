import LatchkeyKeybag
import LatchkeySodium

// The keybag's functions for the secrets of a request. A span cannot leave the object that owns its secret, so these functions take
// the secret itself.

extension Keybag {
  static func create(password: borrowing SecureBytes, cost: PasswordCost) throws(KeybagError) -> Opened {
    try create(password: password.bytes, cost: cost)
  }

  func open(password: borrowing SecureBytes) throws(KeybagError) -> Opened { try open(password: password.bytes) }
}

extension Keybag.Opened {
  borrowing func rotated(
    password: borrowing SecureBytes, isAwaitingDatabase: Bool = false, cost: PasswordCost
  ) throws(KeybagError) -> Keybag.Opened {
    try rotated(password: password.bytes, isAwaitingDatabase: isAwaitingDatabase, cost: cost)
  }

  borrowing func settingPassword(
    _ password: borrowing SecureBytes, isAwaitingDatabase: Bool = false, cost: PasswordCost
  ) throws(KeybagError) -> Keybag {
    try settingPassword(password.bytes, isAwaitingDatabase: isAwaitingDatabase, cost: cost)
  }

  borrowing func addingPassword(
    _ password: borrowing SecureBytes, opensNothing: Bool = false, cost: PasswordCost
  ) throws(KeybagError) -> Keybag? {
    try addingPassword(password.bytes, opensNothing: opensNothing, cost: cost)
  }
}

extension RecoveryCode {
  init(typed: borrowing SecureBytes) throws(Mistake) { try self.init(typed: typed.bytes) }
}

extension PassphraseDerivation {
  func key(_ passphrase: borrowing SecureBytes) throws(KeybagError) -> Key { try key(passphrase.bytes) }
}

extension DeriveRequest {
  /// Whether both secrets are the same.
  var hasSameSecrets: Bool { Sodium.equal(token.bytes, second.bytes) }
}
