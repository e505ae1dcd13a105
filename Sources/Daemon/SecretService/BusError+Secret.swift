import LatchkeyReasons
import LatchkeySystemd
import LatchkeyVault

/// The errors of the Secret Service (specification 0.2, "Errors"), and a few errors for which it has no name. Behind the message,
/// an error has the code of its reason, for clients that know such codes.
extension BusError {
  init(name: String, _ reason: Reason) {
    self.init(name: name, message: reason.text, detail: reason.encoded(limit: 8192))
  }

  /// An error with a reason in place of a message.
  private static func with(_ reason: Reason, _ error: (String) -> BusError) -> BusError {
    BusError(name: error("").name, reason)
  }

  static func isLocked(_ reason: Reason) -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.IsLocked", reason)
  }
  static func noSession() -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.NoSession", .service(.noSession))
  }
  static func noSuchObject(_ path: String) -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.NoSuchObject", .service(.noSuchObject))
  }
  var isNoSuchObject: Bool { name == BusError.noSuchObject("").name }
  static func alreadyExists(_ text: String) -> BusError {
    BusError(name: "org.freedesktop.Secret.Error.AlreadyExists", message: text)
  }
  static func notSupported(_ reason: Reason) -> BusError { with(reason) { .notSupported($0) } }
  static func limitsExceeded(_ reason: Reason) -> BusError { with(reason) { .limitsExceeded($0) } }
  static func invalidArguments(_ reason: Reason) -> BusError { with(reason) { .invalidArguments($0) } }

  /// Another item has attributes that only one item may have.
  static let duplicateName = "org.latchkey.Error.Duplicate"

  /// The error for a client.
  init(_ error: VaultError) {
    let reason = error.reason
    switch error {
    case .isLocked: self = .isLocked(.service(.locked))
    case .isLockedByItself, .notCreated, .needsGrant: self = .isLocked(reason)
    case .noSuchItem, .noSuchCollection: self = .noSuchObject("")
    case .unknownClass, .unknownControlAttribute, .badAccessControl: self = .invalidArguments(reason)
    case .keepsItsAccess: self = .notSupported(reason)
    case .duplicate: self = BusError(name: BusError.duplicateName, reason)
    case .tooLarge, .outOfMemory: self = .limitsExceeded(reason)
    case .damaged, .foreignItem:
      self = BusError(name: "org.latchkey.Error.Damaged", .both(reason, .service(.seeStatus)))
    case .noFingers: self = BusError(name: "org.latchkey.Error.NoFingers", reason)
    case .noPasscode: self = BusError(name: "org.latchkey.Error.NoPasscode", reason)
    case .unavailable, .otherDevice, .deviceMissing:
      self = BusError(name: "org.latchkey.Error.Unavailable", .both(reason, .service(.seeStatus)))
    case .diskFull: self = BusError(name: "org.freedesktop.DBus.Error.NoMemory", .service(.diskFull))
    }
  }

  /// Runs a step of the vault on behalf of a client.
  static func vault<Result>(_ body: () throws(VaultError) -> Result) throws(BusError) -> Result {
    do { return try body() } catch { throw BusError(error) }
  }
}
