import LatchkeyKeybag

/// Gives a security key another name.
struct SecurityKeyRenaming: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    let (former, name) = try SecurityKeyChange.names(of: run.request)
    guard SecurityKey.isName(name) else { return .badRequest }
    guard let opened = try SessionSecrets(run).openByPassword(try run.keybags.load()) else { return .nothingNeeded }
    let next: Keybag?
    do throws(KeybagError) { next = try opened.renamingSecurityKey(former, to: name) } catch {
      guard error == .alreadyThere else { throw error }
      return .nothingNeeded
    }
    guard let next else { return .nothingNeeded }
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
