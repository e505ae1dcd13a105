import LatchkeyControl
import LatchkeyKeybag

/// Ends a daemon that an upgrade left behind. It no longer understands the helpers, and ends if a helper has keys for the installed
/// daemon.
struct DaemonReplacement {
  let run: Run

  /// Ends a daemon of another version that said it would end. This run must have keys to hand over: a password or a code
  /// opens the keybag, or will create the first one. A run without keys leaves the daemon and its keys as they are: after a
  /// wrong password, at a login without one, or at the end of a session.
  ///
  /// - Returns: nil if the installed daemon runs now, or is started at the next connection.
  func perform() throws -> DeriveResult? {
    let daemon = try run.daemon.client()
    // A daemon of another version does not know when the password was given, and counts events only from its hello.
    guard !run.daemon.isLate else { return .late }
    // The greeting announces this process on the same connection. Until the former daemon ends, a lock or sleep ends this process,
    // as with a daemon of this version.
    do throws(ControlError) {
      _ = try run.daemon.greet(daemon, .authenticate)
      // Another login has replaced the daemon already.
      return nil
    } catch { guard error == .givesWay else { throw error } }
    guard try hasKeys(announcedTo: daemon) else { return .otherVersion }
    run.daemon.noteFollowed()
    try daemon.replaceDaemon(until: run.daemon.deadline())
    return nil
  }

  /// Whether this run has keys to hand over. Throws if the password or code opens nothing.
  private func hasKeys(announcedTo daemon: borrowing ControlClient) throws -> Bool {
    guard run.request.token.count > 0 else { return false }
    switch run.request.operation {
    case .openSession, .createVault:
      if try run.keybags.presence() == .absent { return run.mayTrustToken }
    case .authenticate, .rewrap, .recover, .openBySecurityKey: break
    default: return false
    }
    let keybag = try run.keybags.load()
    // Only the device key opens such a keybag, and only the daemon has that key.
    guard !keybag.isPasswordless else { return false }
    // All work is repeated for the installed daemon. That daemon is greeted first, so that it, too, counts a lock during this work
    // as later than the password.
    switch run.request.operation {
    case .recover: _ = try keybag.open(code: try RecoveryCode(typed: run.request.token))
    case .openBySecurityKey: _ = try keybag.open(securityKeyAnswer: try SecurityKeyRequest.answer(of: run.request))
    case .rewrap: _ = try daemon.derive { () throws(KeybagError) in try PasswordRepair(run: run).openByFormer(keybag) }
    default: _ = try daemon.derive { () throws(KeybagError) in try keybag.open(password: run.request.token) }
    }
    return true
  }
}
