public import Foundation
import Synchronization

/// Passwords by service and account, with one accessibility for the whole program.
///
/// This is the interface of older wrappers of the keychain, for programs that know them. Its calls throw the errors that those
/// wrappers reported through a pointer. The items are the same as the items of ``Keychain``, which can do more: a class for each
/// item, access control, a text for the person, and `async` calls. The calls here wait on the calling thread.
public enum PasswordKeychain {
  private static let chosen = Mutex<KeychainItemAccessibility?>(nil)

  /// The accessibility of passwords that any thread of the program sets from now on. Existing passwords keep their accessibility
  /// until they are set again.
  ///
  /// At first the value is nil. Then a new password is ``KeychainItemAccessibility/whenUnlocked``, and an existing password keeps
  /// its accessibility. Set the value early. For passwords of different classes, change it between the calls, or use ``Keychain``.
  ///
  /// If a password is set with an accessibility, it loses its other requirements (the access control of a ``Keychain``).
  public static var accessibilityType: KeychainItemAccessibility? {
    get { chosen.withLock { $0 } }
    set { chosen.withLock { $0 = newValue } }
  }

  /// Stores a password, or replaces it.
  ///
  /// - Parameters:
  ///   - password: The password; stored as UTF-8.
  ///   - service: The service, such as `org.example.mail`. An empty name means all items that have no service.
  ///   - account: The name of the account.
  /// - Throws: A ``KeychainError``.
  public static func setPassword(
    _ password: String, forService service: String, account: String
  ) throws(KeychainError) {
    try setPasswordData(Data(password.utf8), forService: service, account: account)
  }

  /// Stores the bytes of a password, or replaces them.
  ///
  /// - Parameters:
  ///   - password: Any bytes; 32 MiB at most.
  ///   - service: The service. An empty name means all items that have no service.
  ///   - account: The name of the account.
  /// - Throws: A ``KeychainError``.
  public static func setPasswordData(
    _ password: Data, forService service: String, account: String
  ) throws(KeychainError) {
    try Keychain(service: service).set(password, for: account, accessibility: accessibilityType)
  }

  /// A password.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - account: The name of the account.
  /// - Returns: The password.
  /// - Throws: ``KeychainError/notFound`` if there is no password; ``KeychainError/notText`` for bytes that are not UTF-8; or
  ///   another ``KeychainError``.
  public static func password(forService service: String, account: String) throws(KeychainError) -> String {
    try Keychain(service: service).getString(account)
  }

  /// The bytes of a password.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - account: The name of the account.
  /// - Returns: The bytes.
  /// - Throws: ``KeychainError/notFound`` if there is no password; or another ``KeychainError``.
  public static func passwordData(forService service: String, account: String) throws(KeychainError) -> Data {
    try Keychain(service: service).get(account)
  }

  /// Deletes a password, even if it is locked.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - account: The name of the account.
  /// - Throws: ``KeychainError/notFound`` if there is no password; or another ``KeychainError``.
  public static func deletePassword(forService service: String, account: String) throws(KeychainError) {
    try Keychain(service: service).delete(account)
  }

  /// The accounts of a service that have a password, the most recently changed one first.
  ///
  /// - Parameter service: The service.
  /// - Returns: The names of the accounts; empty if there is none.
  /// - Throws: A ``KeychainError``.
  public static func accounts(forService service: String) throws(KeychainError) -> [String] {
    try Keychain(service: service).accounts()
  }
}
