import LatchkeyControl
import LatchkeyKeybag
import LatchkeySodium

/// Gives the vault new keys. The keybag gets the new keys first, beside the keys that the database still depends on. So after an
/// interruption, the next unlock gets both the former and the new keys.
struct KeyRotation {
  let run: Run

  func perform() throws -> DeriveResult {
    let daemon = try run.daemon.client()
    try daemon.ask(CheckMayRotate(), until: run.daemon.deadline())
    let keybag = try run.keybags.load()
    let opened = try KeybagUnlock(run: run).open(keybag, at: daemon)
    guard keybag.isPasswordless else {
      // New keys end all other passwords, so this password must have the right to end others.
      guard opened.mayEndOthers() else { return .refused }
      let next = try daemon.derive { () throws(KeybagError) in
        try opened.rotated(password: run.request.token, cost: .measured())
      }
      return try changeKeys(of: keybag, to: try SessionSecrets(run: run).keepingSession(next, of: keybag), at: daemon)
    }
    let secret = try daemon.newDeviceSecret(vault: keybag.vault, until: run.daemon.deadline())
    return try changeKeys(of: keybag, to: try opened.rotated(device: secret), at: daemon)
  }

  /// Replaces `keybag` by one with new keys, and makes the daemon use these keys.
  func changeKeys(
    of keybag: Keybag, to next: consuming Keybag.Opened, at daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    try run.keybags.replace(keybag, with: next.keybag)
    do {
      let delivery = TierDelivery(
        vault: next.keybag.vault, generation: next.keybag.generation, created: false,
        leftMemory: WorkingMemory.wasLeft, tiers: try next.tiers(), former: try next.formerTiers())
      guard try daemon.deliver(Rotate(delivery), until: run.daemon.deadline()) == .live else { return .begun }
      let oldest = try daemon.ask(GetNeededEpoch(), until: run.daemon.deadline())
      if let settled = try next.dropping(epochsBefore: oldest, proving: false) {
        try run.keybags.replace(next.keybag, with: settled)
      }
    } catch {
      return .begun
    }
    return .unlocked
  }
}
