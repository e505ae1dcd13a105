import LatchkeyKeybag

/// Lets no login without a password unlock anything any more.
struct SessionProtectorRemoval: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    guard let opened = try SessionSecrets(run).openByPassword(try run.keybags.load()),
      let next = try opened.removingSession()
    else { return .nothingNeeded }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
