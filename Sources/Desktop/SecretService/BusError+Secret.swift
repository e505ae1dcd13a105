import LatchkeySystemd
import LatchkeyVault

/// The errors of the Secret Service (specification 0.2, "Errors"), and the few that it has no name for.
extension BusError {
  static func isLocked(_ text: String) -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.IsLocked", message: text)
  }
  static func noSession() -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.NoSession", message: "that session does not exist, or is not yours")
  }
  static func noSuchObject(_ path: String) -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.NoSuchObject", message: "there is no object at that path")
  }
  var isNoSuchObject: Bool { name == BusError.noSuchObject("").name }
  static func alreadyExists(_ text: String) -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.AlreadyExists", message: text)
  }

  /// Another item has attributes that only one item may have.
  static let duplicateName = "org.latchkey.Error.Duplicate"

  /// The error for a client.
  init(_ error: VaultError) {
    switch error {
    case .isLocked: self = .isLocked("it is locked: unlock the session with your password")
    case .isLockedByItself: self = .isLocked(error.explanation)
    case .notCreated: self = .isLocked(error.explanation)
    case .noSuchItem, .noSuchCollection: self = .noSuchObject("")
    case .needsGrant: self = .isLocked(error.explanation)
    case .unknownClass, .unknownControlAttribute, .badAccessControl: self = .invalidArguments(error.explanation)
    case .keepsItsAccess: self = .notSupported(error.explanation)
    case .duplicate: self = BusError(name: BusError.duplicateName, message: error.explanation)
    case .tooLarge, .outOfMemory: self = .limitsExceeded(error.explanation)
    case .damaged, .foreignItem:
      self = BusError(name: "org.latchkey.Error.Damaged", message: error.explanation + "; see `latchkey status`")
    case .noFingers: self = BusError(name: "org.latchkey.Error.NoFingers", message: error.explanation)
    case .noPasscode: self = BusError(name: "org.latchkey.Error.NoPasscode", message: error.explanation)
    case .unavailable, .otherDevice, .deviceMissing:
      self = BusError(name: "org.latchkey.Error.Unavailable", message: error.explanation + "; see `latchkey status`")
    case .diskFull:
      self = BusError(name: "org.freedesktop.DBus.Error.NoMemory", message: "the disk is full: nothing was stored")
    }
  }

  /// Runs a step of the vault on behalf of a client.
  static func vault<Result>(_ body: () throws(VaultError) -> Result) throws(BusError) -> Result {
    do { return try body() } catch { throw BusError(error) }
  }
}
