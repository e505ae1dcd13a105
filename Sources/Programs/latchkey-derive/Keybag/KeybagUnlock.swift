import LatchkeyControl
import LatchkeyKeybag

/// Opens the vault's keybag, and hands its keys over.
struct KeybagUnlock {
  let run: Run

  /// Opens the keybag with the password, and hands the keys over.
  ///
  /// - Parameter proving: whether the unlock proves the password in the keybag, so that other passwords end.
  func unlock(_ keybag: Keybag, at daemon: borrowing ControlClient, proving: Bool) throws -> DeriveResult {
    let opened: Keybag.Opened
    do throws(KeybagError) {
      opened = try daemon.derive { () throws(KeybagError) in try keybag.open(password: run.request.token) }
    } catch {
      // The daemon is told, so that the person learns why the vault stays locked, and how to unlock it.
      if error == .wrongPassword { run.daemon.noteOtherPassword(daemon) }
      throw error
    }
    return try finish(opened, of: keybag, at: daemon, proving: proving)
  }

  /// Hands the keys of an opened keybag over, and leaves out keys that nothing depends on.
  func finish(
    _ opening: consuming Keybag.Opened, of keybag: Keybag, at daemon: borrowing ControlClient, proving: Bool
  ) throws -> DeriveResult {
    var opened = opening
    // Minutes may have passed, so the present keybag counts. If it no longer has this password, nothing is unlocked.
    let folder = try run.keybags.folder()
    let present = try run.keybags.load(from: folder)
    if present != keybag {
      guard let again = try opened.reopening(present) else { throw KeybagError.overtaken }
      opened = again
    }
    let result = try run.daemon.deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    if let slowness = opened.slowness {
      try? daemon.ask(NoteSlowPassword(milliseconds: UInt32(clamping: slowness)), until: run.daemon.deadline())
    }
    let oldest =
      keybag.epochs.count > 1 ? (try? daemon.ask(GetNeededEpoch(), until: run.daemon.deadline())) ?? 0 : 0
    let isProving = proving && (opened.mayEndOthers() || !run.request.isUnlock)
    // If the write fails, the next login tries again.
    let isWritten = try? run.keybags.rewrite(opened, in: folder) { (opened, _) throws(KeybagError) in
      if let next = try opened.dropping(epochsBefore: oldest, proving: isProving) { return next }
      return opened.keybag.awaitsDatabase ? try opened.confirming() : nil
    }
    if isWritten != true { KeybagFile.keepCopy(of: opened.keybag, in: folder) }
    return result
  }

  /// Opens the keybag by the login password, or by the device key if the login has no password.
  func open(_ keybag: Keybag, at daemon: borrowing ControlClient) throws -> Keybag.Opened {
    guard keybag.isPasswordless else {
      return try daemon.derive { () throws(KeybagError) in try keybag.open(password: run.request.token) }
    }
    return try keybag.open(deviceSecret: try daemon.presentDeviceSecret(until: run.daemon.deadline()))
  }

  /// Does the same for a command. If the vault has a password, the daemon need not run.
  func openForCommand(_ keybag: Keybag) throws -> Keybag.Opened {
    guard keybag.isPasswordless else {
      return try run.daemon.derive { () throws(KeybagError) in try keybag.open(password: run.request.token) }
    }
    return try open(keybag, at: try run.daemon.client())
  }
}
