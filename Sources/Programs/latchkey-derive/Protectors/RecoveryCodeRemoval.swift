import LatchkeyKeybag

/// Lets no recovery code open the vault any more.
struct RecoveryCodeRemoval: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    let opened = try KeybagUnlock(run).openForCommand(try run.keybags.load())
    guard let next = try opened.removingRecoveryCode() else { return .nothingNeeded }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
