import LatchkeyKeybag

/// Hears of the state of a vault's own files.
public protocol VaultDelegate: AnyObject {
  /// A database was healed. This is called once for each healing. It is not called if the first look at the vault only finished an
  /// exchange of files.
  func wasHealed(_ healing: Healing)
  /// A keybag was healed. This is called once for each healing, except for one at the first look at the vault.
  func wasHealed(_ healing: KeybagHealing)
  /// Somebody replaced these files by older copies. This is called once for each file.
  func foundOlder(_ files: OlderFiles)
  /// The keybag has other protectors than before. Passwords and the device key do not count. This is not called for the protectors
  /// that the keybag had at the first look at the vault.
  func changedProtectors(added: [Protector], removed: [Protector])
  /// A call or the verification found damage, for the first time.
  func foundDamage()
}
