import LatchkeyKeybag
import LatchkeyVault

/// Records the messages of a vault.
final class ToldVault: VaultDelegate {
  var healings: [Healing] = []
  var keybagHealings: [KeybagHealing] = []
  var older: [OlderFiles] = []
  var damages = 0
  var protectors: [String] = []

  func wasHealed(_ healing: Healing) { healings.append(healing) }
  func wasHealed(_ healing: KeybagHealing) { keybagHealings.append(healing) }
  func foundOlder(_ files: OlderFiles) { older.append(files) }
  func changedProtectors(added: [Protector], removed: [Protector]) {
    protectors.append(
      (added.map { "+" + $0.kind.name } + removed.map { "-" + $0.kind.name }).joined(separator: " "))
  }
  func foundDamage() { damages += 1 }
}
