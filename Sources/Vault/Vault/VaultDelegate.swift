import LatchkeyKeybag

/// Hears of the state of a vault's own files.
public protocol VaultDelegate: AnyObject {
  /// A database was healed. Called once for each, except if only an exchange was finished when the vault was first looked at.
  func wasHealed(_ healing: Healing)
  /// A keybag was healed. Called once for each, except if it was healed when the vault was first looked at.
  func wasHealed(_ healing: KeybagHealing)
  /// These files were found replaced by older copies. Called once for each.
  func foundOlder(_ files: OlderFiles)
  /// The keybag has other protectors than before. Passwords and the device key do not count. Not called for the protectors that it
  /// had when the vault was first looked at.
  func changedProtectors(added: [Protector], removed: [Protector])
  /// A call or the verification found damage, for the first time.
  func foundDamage()
}
