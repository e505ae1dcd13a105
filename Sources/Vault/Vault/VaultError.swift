import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium

/// Why the vault refused or failed. No case carries a secret, a label or an attribute.
public enum VaultError: Error, Equatable, Sendable {
  /// The key that this needs is not in memory.
  case isLocked
  /// The item has an explicit lock, though its key is in memory.
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
  /// There is no vault yet: nobody gave a password.
  case notCreated
  /// A file of the vault is damaged; the text names it. Nothing is written any more.
  case damaged(String)
  /// A file of the vault cannot be used; the text names it and says why.
  case unavailable(String)
  /// The disk is full.
  case diskFull
  /// The item of that number says that it was stored while its class was locked, but not by this vault's session.
  case foreignItem(Int64)
  /// The item was made on another device, whose key it needs.
  case otherDevice
  /// The item's requirements were not met: its conditions, or its passphrase.
  case needsGrant
  /// An item's requirements and class are changed by
  /// ``ItemWriter/setAccess(ofItem:_:accessibility:passphrase:fingers:granted:)`` only, because a person must agree to that
  /// change.
  case keepsItsAccess
  /// Another item has attributes that only one item may have.
  case duplicate
  /// Access control flags do not go together.
  case badAccessControl(AccessControl.Mistake)
  /// An item that requires the enrolled fingers cannot be stored; the text says why.
  case noFingers(String)
  /// The class depends on the login's password, and the login has none.
  case noPasscode
  /// The item is bound to a device, and this one's key cannot be used.
  case deviceMissing
  /// Memory for a secret could not be had.
  case outOfMemory

  /// Without fingers, nobody could ever open such an item.
  public static let noFingerEnrolled = VaultError.noFingers("no finger is enrolled: run 'fprintd-enroll' first")

  /// A copy needs more bytes than are free.
  static func lacksRoom(of bytes: Int) -> VaultError {
    .unavailable("less than \(bytes / (1 << 20) + 1) MiB are free on the disk")
  }

  init(_ error: SQLiteError) {
    self =
      switch error.kind {
      case .full: .diskFull
      case .damaged: .damaged("vault.db: it is damaged (SQLite: \(error.message))")
      case .busy: .unavailable("vault.db: another process uses it")
      // This program keeps every constraint of the schema. A broken constraint means that other rows were written into the
      // file.
      case .constraint: .damaged("vault.db: it is damaged (SQLite: \(error.message))")
      case .inaccessible, .other: .unavailable("vault.db: \(error.message)")
      }
  }

  /// Runs a step of the store.
  static func store<Result>(_ body: () throws(SQLiteError) -> Result) throws(VaultError) -> Result {
    do { return try body() } catch { throw VaultError(error) }
  }

  /// Runs cryptography on values of the store: a value that does not open is damaged.
  static func sodium<Result: ~Copyable>(
    _ what: @autoclosure () -> String, _ body: () throws(SodiumError) -> Result
  ) throws(VaultError) -> Result {
    do { return try body() } catch {
      throw error == .outOfMemory ? .outOfMemory : .damaged("vault.db: \(what()) does not open")
    }
  }
}

extension VaultError {
  /// For a person: what is wrong, and with which file.
  public var explanation: String {
    switch self {
    case .isLocked: "it is locked"
    case .isLockedByItself: "it was locked explicitly: run 'latchkey unlock'"
    case .noSuchItem: "there is no such item"
    case .noSuchCollection: "there is no such collection"
    case .unknownClass:
      "latchkey:accessible must be one of " + AccessibilityClass.allCases.map(\.name).joined(separator: ", ")
    case .unknownControlAttribute:
      "the only attributes that begin with latchkey: are latchkey:accessible and latchkey:require"
    case .tooLarge: "it is too large for the vault"
    case .notCreated: "there is no vault yet: 'latchkey unlock', or a login with your password, creates it"
    case .damaged(let text), .unavailable(let text): text
    case .diskFull: "the disk is full"
    case .foreignItem(let id): "item \(id) was put into the vault by somebody else, so it is not opened"
    case .otherDevice: "it was stored on another device"
    case .needsGrant: "it has requirements: 'latchkey get' asks you to meet them, and so do other programs"
    case .keepsItsAccess:
      "writing an item changes neither its requirements nor its class; 'latchkey edit' changes them"
    case .duplicate: "an item with these attributes already exists"
    case .badAccessControl(let mistake): mistake.explanation
    case .noFingers(let text): text
    case .noPasscode:
      "your login has no password, which when-passcode-set-this-device-only needs: set one, and log in again"
    case .deviceMissing: "it is bound to a device, and the device key cannot be used now"
    case .outOfMemory: "there is not enough memory"
    }
  }
}
