import LatchkeyKeybag
import LatchkeyVault

/// Records the messages of a vault.
final class ToldVault: VaultDelegate {
  var healings: [Healing] = []
  var keybagHealings: [KeybagHealing] = []
  var older: [OlderFiles] = []
  var damages = 0

  func wasHealed(_ healing: Healing) { healings.append(healing) }
  func wasHealed(_ healing: KeybagHealing) { keybagHealings.append(healing) }
  func foundOlder(_ files: OlderFiles) { older.append(files) }
  func foundDamage() { damages += 1 }
}
