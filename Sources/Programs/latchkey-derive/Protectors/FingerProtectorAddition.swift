import LatchkeyKeybag

/// Lets a finger unlock again what a password has unlocked before. Replaces an existing protector of a finger.
struct FingerProtectorAddition: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    guard let opened = try SessionSecrets(run).openByPassword(try run.keybags.load()) else { return .nothingNeeded }
    let next = try opened.settingFinger(mayBeInMemory: run.request.operation == .addFingerInMemory)
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }
}
