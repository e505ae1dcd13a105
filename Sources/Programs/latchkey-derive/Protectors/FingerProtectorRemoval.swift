import LatchkeyKeybag

/// Lets no finger unlock anything any more.
struct FingerProtectorRemoval: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    guard let opened = try SessionSecrets(run).openByPassword(try run.keybags.load()),
      let next = try opened.removingFinger()
    else { return .nothingNeeded }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
