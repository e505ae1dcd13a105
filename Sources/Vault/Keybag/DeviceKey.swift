import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// Binds keys to one device. It wraps and unwraps small secrets, so that its own key can stay in a file, with a system
/// service, or in a chip.
public protocol DeviceKey: AnyObject {
  /// 16 bytes by which a vault recognises its device; not secret.
  var identity: [UInt8] { get }
  /// The place where the key is kept.
  var backend: DeviceKeyBackend { get }
  /// Wraps `share` for this device, bound to `context`.
  func wrap(_ share: borrowing Key, _ kind: DeviceShareKind, context: [UInt8]) throws(DeviceKeyError) -> [UInt8]
  /// Unwraps a share that ``wrap(_:_:context:)`` made on this device.
  func unwrap(_ wrapped: [UInt8], _ kind: DeviceShareKind, context: [UInt8]) throws(DeviceKeyError) -> Key
  /// Erases the secret of ``DeviceShareKind/erasable`` for good. Shares of that kind that were wrapped before can no longer be
  /// unwrapped. Later services can.
  ///
  /// - Parameter folder: the vault's folder, for a key that is kept there.
  func eraseErasable(in folder: borrowing Folder) throws(DeviceKeyError)
  /// The memory of the vault's generations beside the key; nil if nothing remembers them.
  var memory: (any GenerationMemory)? { get }
}

extension DeviceKey {
  /// A key in the vault's own folder would be restored together with the vault, so it remembers nothing.
  public var memory: (any GenerationMemory)? { nil }
}

/// Asks the machine's own service for the device key: nil if there is no such service.
public typealias DeviceKeyService = () throws(DeviceKeyError) -> (any DeviceKey)?

/// The places where a device key can be kept, the weakest first.
public enum DeviceKeyBackend: String, Sendable {
  /// A file of the user, which is mixed with the machine's identity. So a copied home folder does not open on another machine. But
  /// a program that can read the file and knows the machine's identity has the key.
  case file
  /// A file that only root can read, behind the system service.
  case host
  /// The machine's TPM 2.0, behind the system service.
  case tpm
}

/// Which secret of the device a share depends on.
public enum DeviceShareKind: UInt8, Sendable {
  /// The device key itself.
  case bound = 1
  /// The device key and a secret that can be erased for good, for whenPasscodeSetThisDeviceOnly.
  case erasable = 2
  /// Unwrapped only at a login. The share opens tier key C if nobody gave a password. Only the device key service has such shares.
  case session = 3
}

/// Why the device key could not serve.
public enum DeviceKeyError: Error, Equatable, Sendable {
  /// This device did not wrap the value.
  case otherDevice
  /// The key's file or service cannot be used; the reason says why.
  case unavailable(Reason)

  /// A request that the caller's event loop gave up because it had other work. This error tells nothing about the key, and the
  /// caller tries again in a moment.
  public static let brokenOff = DeviceKeyError.unavailable(.device(.brokenOff))
}

extension Reason {
  /// Whether the error only means that the device key service is asked again in a moment: ``DeviceKeyError/brokenOff``.
  public var isBrokenOff: Bool { contains(.device(.brokenOff)) }
}
