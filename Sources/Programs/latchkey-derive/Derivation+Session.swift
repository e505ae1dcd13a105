import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The protector of a session, which opens tier key C at a login without a password.
extension Derivation {
  /// A session begins, and there is no password to open the vault with. Where the user wants that, and the administrator lets
  /// this service do so, the device key unlocks the items that are readable behind the locked screen.
  borrowing func openWithoutToken() throws -> DeriveResult {
    let daemon = try connect()
    // Right after the machine started, a TPM may take its time, and a daemon that is just starting waits for it.
    let limit = admission.mayAsk ? min(Process.now + 60_000, end - 2 * Derivation.deliveryTime) : nil
    if let answer = try greet(daemon, .openSession, until: limit) { return answer == .late ? .late : .nothingNeeded }
    guard admission.mayAsk else { return .nothingNeeded }
    let keybag: Keybag
    do throws(KeybagError) { keybag = try load(from: try folder()) } catch {
      guard error == .missing else { throw error }
      return .nothingNeeded
    }
    guard let protector = keybag.sessionProtector, let wrapping = protector.deviceWrapping else {
      return .nothingNeeded
    }
    // As long as the daemon can still be told.
    let secret = try admission.unwrap(
      wrapping.wrapped, context: DeviceSecret.context(vault: keybag.vault, protector: protector.id),
      until: end - Derivation.deliveryTime)
    return try deliver(try keybag.open(sessionSecret: secret), of: keybag, to: daemon)
  }

  private borrowing func deliver(
    _ key: consuming SessionKey, of keybag: Keybag, to daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    let delivery = SessionDelivery(vault: keybag.vault, key: key)
    return switch try daemon.deliver(delivery, until: deadline()) {
    case .live, .staged: .sessionOpened
    // More is unlocked than this would unlock, or the machine goes to sleep.
    case .refused: .nothingNeeded
    case .wrongKeys, .unusable: .damaged
    }
  }

  // MARK: - by command

  /// Lets logins without a password unlock the items that are readable behind the locked screen. Takes the place of such a
  /// protector.
  borrowing func addSession() throws -> DeriveResult {
    guard let opened = try openByPassword(try load(from: try folder())) else { return .nothingNeeded }
    let secret = try newSessionSecret(of: try deviceKey(), vault: opened.keybag.vault)
    try KeybagFile.replace(opened.keybag, with: try opened.settingSession(secret), in: try folder())
    return .unlocked
  }

  borrowing func removeSession() throws -> DeriveResult {
    guard let opened = try openByPassword(try load(from: try folder())), let next = try opened.removingSession() else {
      return .nothingNeeded
    }
    try KeybagFile.replace(opened.keybag, with: next, in: try folder())
    return .unlocked
  }

  /// nil where the login has no password: there is no such protector then.
  private borrowing func openByPassword(_ keybag: Keybag) throws -> Keybag.Opened? {
    guard !keybag.isPasswordless else { return nil }
    // No login gives an empty password, so it is not tried.
    guard request.token.count > 0 else { throw KeybagError.wrongPassword }
    return try derive { () throws(KeybagError) in try keybag.open(password: request.token.bytes) }
  }

  /// The keybag with new keys, with a protector of a session for them where this machine had one before. New keys do not
  /// wait for a device key service that is away: then it ends, and `latchkey rotate` says so.
  borrowing func keepingSession(
    _ next: consuming Keybag.Opened, of before: Keybag
  ) throws -> Keybag.Opened {
    guard let identity = before.sessionProtector?.deviceWrapping?.identity, let device = try? deviceKey(),
      device.identity == identity, let secret = try? newSessionSecret(of: device, vault: before.vault)
    else { return next }
    return try next.carryingSession(secret)
  }

  private borrowing func deviceKey() throws(DeviceKeyError) -> ServiceDeviceKey {
    let path = request.device.isEmpty ? ServiceDeviceKey.path : request.device
    guard let found = try ServiceDeviceKey.find(at: path) else { throw .unavailable(.device(.noService)) }
    return found
  }

  private borrowing func newSessionSecret(of device: ServiceDeviceKey, vault: [UInt8]) throws -> DeviceSecret {
    let protector = Sodium.randomBytes(16)
    let key = try Key.random()
    let wrapped = try device.wrap(
      key, .session, context: DeviceSecret.context(vault: vault, protector: protector))
    guard let wrapping = DeviceSecret.Wrapping(identity: device.identity, wrapped: wrapped) else {
      throw DeviceKeyError.unavailable(.device(.invalidReply))
    }
    return DeviceSecret(protector: protector, wrapping: wrapping, key: key)
  }
}
