import LatchkeyKeybag

/// Hears of the state of a vault's own files.
public protocol VaultDelegate: AnyObject {
  /// A database was healed. Called once for each, but not for one whose exchange was finished when the vault was looked at first.
  func wasHealed(_ healing: Healing)
  /// A keybag was healed. Called once for each, but not for one that was healed when the vault was looked at first.
  func wasHealed(_ healing: KeybagHealing)
  /// Older copies were found in the place of these files. Called once for each.
  func foundOlder(_ files: OlderFiles)
  /// A call or the verification found damage, for the first time.
  func foundDamage()
}
