import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix

/// The beginning of a session in which nobody gave a password. If the user and the administrator both allow it, the device key
/// unlocks the items that are readable behind the locked screen.
struct SessionKeyOpening {
  let run: Run

  func perform() throws -> DeriveResult {
    let daemon = try run.daemon.connect()
    // Right after the start of the machine, a TPM may be slow, and a daemon that is just starting waits for the TPM.
    let limit = run.admission.mayAsk ? min(Process.now + 60_000, run.end - 2 * DaemonLink.deliveryTime) : nil
    if let answer = try run.daemon.greet(daemon, .openSession, until: limit) {
      return answer == .late ? .late : .nothingNeeded
    }
    guard run.admission.mayAsk else { return .nothingNeeded }
    let keybag: Keybag
    do throws(KeybagError) { keybag = try run.keybags.load() } catch {
      guard error == .missing else { throw error }
      return .nothingNeeded
    }
    guard let protector = keybag.sessionProtector, let wrapping = protector.deviceWrapping else {
      return .nothingNeeded
    }
    // The service gets all the time that is left before the delivery.
    let secret = try run.admission.unwrap(
      wrapping.wrapped, context: DeviceSecret.context(vault: keybag.vault, protector: protector.id),
      until: run.end - DaemonLink.deliveryTime)
    return try deliver(try keybag.open(sessionSecret: secret), of: keybag, to: daemon)
  }

  private func deliver(
    _ key: consuming SessionKey, of keybag: Keybag, to daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    let delivery = SessionDelivery(vault: keybag.vault, key: key)
    return switch try daemon.deliver(delivery, until: run.daemon.deadline()) {
    case .live, .staged: .sessionOpened
    // The vault is unlocked already, or the machine goes to sleep.
    case .refused: .nothingNeeded
    case .wrongKeys, .unusable: .damaged
    }
  }
}
