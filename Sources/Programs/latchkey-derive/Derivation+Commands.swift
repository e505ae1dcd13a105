import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The operations for the command line. Each changes the keybag in one step, which happens as a whole or not at all.
extension Derivation {
  /// Gives the vault new keys. The keybag has them first, beside those that the database still depends on: even if this ends
  /// now, the next unlock brings both.
  borrowing func rotate() throws -> DeriveResult {
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    try daemon.ask(CheckMayRotate(), until: deadline())
    let keybag = try load(from: try folder())
    let opened = try open(keybag, at: daemon)
    guard keybag.isPasswordless else {
      // All but this password would end.
      guard opened.mayEndOthers() else { return .refused }
      let next = try daemon.derive { () throws(KeybagError) in
        try opened.rotated(password: request.token.bytes, cost: .measured())
      }
      return try changeKeys(of: keybag, to: try keepingSession(next, of: keybag), at: daemon)
    }
    let secret = try daemon.newDeviceSecret(vault: keybag.vault, until: deadline())
    return try changeKeys(of: keybag, to: try opened.rotated(device: secret), at: daemon)
  }

  /// Puts a keybag with new keys in the place of `keybag`, and has the daemon use them.
  borrowing func changeKeys(
    of keybag: Keybag, to next: consuming Keybag.Opened, at daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    try KeybagFile.replace(keybag, with: next.keybag, in: try folder())
    do {
      let delivery = TierDelivery(
        vault: next.keybag.vault, generation: next.keybag.generation, created: false,
        leftMemory: WorkingMemory.wasLeft, tiers: try next.tiers(), former: try next.formerTiers())
      guard try daemon.deliver(Rotate(delivery), until: deadline()) == .live else { return .begun }
      let oldest = try daemon.ask(GetNeededEpoch(), until: deadline())
      if let settled = try next.dropping(epochsBefore: oldest, proving: false) {
        try KeybagFile.replace(next.keybag, with: settled, in: try folder())
      }
    } catch {
      return .begun
    }
    return .unlocked
  }

  /// Makes a recovery code, shows it, and only then lets it take the place of the one before: a code that nobody saw must
  /// not be the only one.
  borrowing func createRecoveryCode() throws -> DeriveResult {
    guard request.mayWriteAnywhere || isatty(STDOUT_FILENO) == 1 else { return .badRequest }
    let opened = try openForCommand(try load(from: try folder()))
    let code = try RecoveryCode.random()
    let next = try opened.settingRecoveryCode(code)
    try show(code)
    try KeybagFile.replace(opened.keybag, with: next, in: try folder())
    return .unlocked
  }

  private borrowing func show(_ code: borrowing RecoveryCode) throws {
    let text = try code.text()
    var line = try SecureBytes(count: text.count + 1)
    line.write(text.bytes, at: 0)
    line.write([UInt8(ascii: "\n")].span.bytes, at: text.count)
    let output = FileDescriptor(owning: dup(STDOUT_FILENO))
    try output.writeAll(line.bytes)
  }

  borrowing func code() throws -> RecoveryCode { try RecoveryCode(typed: request.token.bytes) }

  /// Whether the code is this vault's. Changes nothing.
  borrowing func checkRecoveryCode() throws -> DeriveResult {
    _ = try load(from: try folder()).open(code: try code())
    return .unlocked
  }

  /// Does slow work, if no keys follow that the daemon would wait for. It is told all the same, so that it ends this process
  /// before the machine sleeps. A vault with a password needs no daemon: where none runs, nobody is told. One that does not
  /// answer may still hold sleep up, for a process that it does not know: nothing is done then.
  borrowing func derive<Result: ~Copyable>(_ body: () throws(KeybagError) -> Result) throws -> Result {
    let daemon: ControlClient
    do throws(ControlError) { daemon = try announced() } catch {
      guard error == .noDaemon else { throw error }
      return try body()
    }
    return try daemon.derive(body)
  }

  /// A connection to a daemon that knows what this process is about to do.
  private borrowing func announced() throws(ControlError) -> ControlClient {
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    try daemon.ask(CheckMayDerive(), until: deadline())
    return daemon
  }

  /// Opens the vault with its recovery code. Where that opened it, the login password, which PAM has accepted, opens it
  /// from now on.
  borrowing func recover() throws -> DeriveResult {
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    let opened = try load(from: try folder()).open(code: try code())
    let need = try greet(daemon, .authenticate)
    switch need {
    case nil: break
    case .nothingNeeded: try daemon.ask(CheckMayDerive(), until: deadline())
    case .some(let result): return result
    }
    // A vault that stood under no password gets new keys with its first one, as at a login.
    guard !opened.keybag.isPasswordless else {
      if need == nil, let result = try failure(of: opened, at: daemon) { return result }
      let result = try protect(opened, by: request.second.bytes, at: daemon)
      return result == .tooManyEpochs ? .unlocked : result
    }
    // Slow work comes before the keys: until then, the daemon ends this process before the machine sleeps.
    let next = try daemon.derive { () throws(KeybagError) in
      try opened.settingPassword(request.second.bytes, cost: .measured())
    }
    if need == nil, let result = try failure(of: opened, at: daemon) { return result }
    try KeybagFile.replace(opened.keybag, with: next, in: try folder())
    return .unlocked
  }

  /// The daemon's answer to the keys if it did not take them.
  private borrowing func failure(
    of opened: borrowing Keybag.Opened, at daemon: borrowing ControlClient
  ) throws -> DeriveResult? {
    let result = try deliver(opened, to: daemon)
    return result == .unlocked ? nil : result
  }

  /// A vault with a password needs no daemon for this.
  private borrowing func openForCommand(_ keybag: Keybag) throws -> Keybag.Opened {
    guard keybag.isPasswordless else {
      return try derive { () throws(KeybagError) in try keybag.open(password: request.token.bytes) }
    }
    return try open(keybag, at: try ControlClient(runtime: runtime, uid: account.uid))
  }

  borrowing func removeRecoveryCode() throws -> DeriveResult {
    let opened = try openForCommand(try load(from: try folder()))
    guard let next = try opened.removingRecoveryCode() else { return .nothingNeeded }
    try KeybagFile.replace(opened.keybag, with: next, in: try folder())
    return .unlocked
  }
}
