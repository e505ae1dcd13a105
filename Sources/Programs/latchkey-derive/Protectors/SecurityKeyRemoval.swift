import LatchkeyKeybag

/// Lets a security key open the vault no more. It need not be there: it may be lost.
struct SecurityKeyRemoval: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    let (name, _) = try SecurityKeyChange.names(of: run.request)
    guard let opened = try SessionSecrets(run).openByPassword(try run.keybags.load()),
      let next = try opened.removingSecurityKey(named: name)
    else { return .nothingNeeded }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
