import LatchkeyKeybag

/// Hears of the state of a vault's own files.
public protocol VaultDelegate: AnyObject {
  /// A database was healed. Called once for each, except if only an exchange was finished when the vault was first looked at.
  func wasHealed(_ healing: Healing)
  /// A keybag was healed. Called once for each, except if it was healed when the vault was first looked at.
  func wasHealed(_ healing: KeybagHealing)
  /// These files were found replaced by older copies. Called once for each.
  func foundOlder(_ files: OlderFiles)
  /// A call or the verification found damage, for the first time.
  func foundDamage()
}
