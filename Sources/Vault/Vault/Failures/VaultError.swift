import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySQLite
import LatchkeySodium

/// Why the vault refused or failed. No case carries a secret, a label or an attribute.
public enum VaultError: Error, Equatable, Sendable {
  /// The key that this needs is not in memory.
  case isLocked
  /// The item has an explicit lock, though the item's key is in memory.
  case isLockedByItself
  /// No item of that number.
  case noSuchItem
  /// No collection of that number.
  case noSuchCollection
  /// The attribute `latchkey:accessible` has a value that names no class.
  case unknownClass
  /// An attribute `latchkey:…` that does not exist.
  case unknownControlAttribute
  /// A secret, attributes or a label are larger than a vault keeps, or there are too many collections.
  case tooLarge
  /// There is no vault yet, because nobody has given a password.
  case notCreated
  /// A file of the vault is damaged; the reason names the file. The vault writes nothing any more.
  case damaged(Reason)
  /// A file of the vault cannot be used; the reason names the file.
  case unavailable(Reason)
  /// The disk is full.
  case diskFull
  /// The item's row says that a session stored the item while its class was locked, but no session of this vault did.
  case foreignItem(Int64)
  /// The item was made on another device, whose key it needs.
  case otherDevice
  /// The item's requirements were not met: its conditions, or its passphrase.
  case needsGrant
  /// An item's requirements and class are changed only by
  /// ``ItemWriter/setAccess(ofItem:_:accessibility:passphrase:fingers:granted:)``, because a person must agree to that change.
  case keepsItsAccess
  /// Another item has attributes that only one item may have.
  case duplicate
  /// Access control flags do not go together.
  case badAccessControl(AccessControl.Mistake)
  /// An item that requires the enrolled fingers cannot be stored; the reason says why.
  case noFingers(Reason)
  /// The class depends on the login's password, and the login has no password.
  case noPasscode
  /// The item is bound to a device, and this device's key cannot be used.
  case deviceMissing
  /// There was no memory for a secret.
  case outOfMemory

  /// Without an enrolled finger, nobody could ever open such an item.
  public static let noFingerEnrolled = VaultError.noFingers(.finger(.enrollFirst))

  /// A copy needs more bytes than are free.
  static func lacksRoom(of bytes: Int) -> VaultError {
    .unavailable(.lacksRoom(mebibytes: bytes / (1 << 20) + 1))
  }

  init(_ error: SQLiteError) {
    self =
      switch error.kind {
      case .full: .diskFull
      case .damaged: .damaged(.of(.database, .sqlite(error.message)))
      case .busy: .unavailable(.of(.database, .vault(.inUse)))
      case .inaccessible, .other: .unavailable(.of(.database, .verbatim(error.message)))
      }
  }

  /// Runs a step of the store.
  static func store<Result>(_ body: () throws(SQLiteError) -> Result) throws(VaultError) -> Result {
    do { return try body() } catch { throw VaultError(error) }
  }

  /// Runs cryptography on values of the store: a value that does not open is damaged.
  static func sodium<Result: ~Copyable>(
    _ what: @autoclosure () -> Reason, _ body: () throws(SodiumError) -> Result
  ) throws(VaultError) -> Result {
    do { return try body() } catch {
      throw error == .outOfMemory ? .outOfMemory : .damaged(.of(.database, .doesNotOpen(what())))
    }
  }
}

extension VaultError {
  /// The problem, and the file that has it.
  public var reason: Reason {
    switch self {
    case .isLocked: .vault(.locked)
    case .isLockedByItself: .vault(.lockedByItself)
    case .noSuchItem: .vault(.noSuchItem)
    case .noSuchCollection: .vault(.noSuchCollection)
    case .unknownClass: .accessibleMustBe(oneOf: AccessibilityClass.allCases.map(\.name).joined(separator: ", "))
    case .unknownControlAttribute: .vault(.unknownControlAttribute)
    case .tooLarge: .vault(.tooLarge)
    case .notCreated: .vault(.notCreated)
    case .damaged(let reason), .unavailable(let reason), .noFingers(let reason): reason
    case .diskFull: .vault(.diskFull)
    case .foreignItem(let id): .foreignItem(id)
    case .otherDevice: .vault(.otherDevice)
    case .needsGrant: .vault(.needsGrant)
    case .keepsItsAccess: .vault(.keepsItsAccess)
    case .duplicate: .vault(.duplicate)
    case .badAccessControl(let mistake): mistake.reason
    case .noPasscode: .vault(.noPasscode)
    case .deviceMissing: .vault(.deviceMissing)
    case .outOfMemory: .vault(.noMemory)
    }
  }

  /// The error in English, for the log.
  public var explanation: String { reason.text }
}
