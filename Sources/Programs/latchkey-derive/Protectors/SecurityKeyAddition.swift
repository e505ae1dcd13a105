import LatchkeyKeybag

/// Lets a security key open the vault, by the answer that it gave to the vault's challenge.
struct SecurityKeyAddition: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    let key = try SecurityKeyChange.addedKey(of: run.request)
    let answer = try SecurityKeyChange.addedAnswer(of: run.request)
    guard let opened = try SessionSecrets(run).openByPassword(try run.keybags.load()) else { return .nothingNeeded }
    let next: Keybag
    do throws(KeybagError) { next = try opened.addingSecurityKey(key, answer: answer) } catch {
      guard error == .alreadyThere else { throw error }
      return .nothingNeeded
    }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
