import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeySodium

/// The secret of a session's protector, which the device key wraps. It opens tier key C at a login in which nobody gave a password.
struct SessionSecrets {
  let run: Run

  /// nil if the login has no password, and so no protector of a session.
  func openByPassword(_ keybag: Keybag) throws -> Keybag.Opened? {
    guard !keybag.isPasswordless else { return nil }
    // An empty password is not tried, because no login has one.
    guard run.request.token.count > 0 else { throw KeybagError.wrongPassword }
    return try run.daemon.derive { () throws(KeybagError) in try keybag.open(password: run.request.token) }
  }

  /// The keybag with new keys. If this machine had a protector of a session, the new keybag has one too. New keys do not wait for a
  /// device key service that does not answer: then the protector ends, and `latchkey rotate` says so.
  func keepingSession(_ next: consuming Keybag.Opened, of before: Keybag) throws -> Keybag.Opened {
    guard let identity = before.sessionProtector?.deviceWrapping?.identity, let device = try? deviceKey(),
      device.identity == identity, let secret = try? newSecret(of: device, vault: before.vault)
    else { return next }
    return try next.carryingSession(secret)
  }

  func deviceKey() throws(DeviceKeyError) -> ServiceDeviceKey {
    let path = run.request.device.isEmpty ? ServiceDeviceKey.path : run.request.device
    guard let found = try ServiceDeviceKey.find(at: path) else { throw .unavailable(.device(.noService)) }
    return found
  }

  func newSecret(of device: ServiceDeviceKey, vault: [UInt8]) throws -> DeviceSecret {
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
