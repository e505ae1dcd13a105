import LatchkeyKeybag

/// Says whether a code is this vault's. Changes nothing.
struct RecoveryCodeCheck: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    _ = try run.keybags.load().open(code: try RecoveryCode(typed: run.request.token))
    return .unlocked
  }
}
