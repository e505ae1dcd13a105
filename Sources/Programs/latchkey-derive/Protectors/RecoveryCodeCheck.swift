import LatchkeyKeybag

/// Says whether a code opens this vault. Changes nothing.
struct RecoveryCodeCheck {
  let run: Run

  func perform() throws -> DeriveResult {
    _ = try run.keybags.load().open(code: try RecoveryCode(typed: run.request.token))
    return .unlocked
  }
}
