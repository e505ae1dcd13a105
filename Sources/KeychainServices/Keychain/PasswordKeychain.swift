public import Foundation
import Synchronization

/// Passwords by service and account, with one accessibility for the whole program.
///
/// The interface of older layers over the keychain, for programs that know it. It throws the errors that they reported through
/// a pointer. The items are the same as those of ``Keychain``, which can do more: a class for each item, access control, a text
/// for the person, forms for tasks. The calls here wait on the thread that makes them.
public enum PasswordKeychain {
  private static let chosen = Mutex<KeychainItemAccessibility?>(nil)

  /// When passwords can be read that are set from now on, in the whole program, on every thread. Existing passwords stay as
  /// they are until they are set again.
  ///
  /// At the start it is nil: then a new password is ``KeychainItemAccessibility/whenUnlocked``, and an existing one keeps its
  /// accessibility. Set it early. To have passwords of different classes, change it between them, or use ``Keychain``.
  ///
  /// A password that is set with an accessibility has no other requirements any more (the access control of a ``Keychain``).
  public static var accessibilityType: KeychainItemAccessibility? {
    get { chosen.withLock { $0 } }
    set { chosen.withLock { $0 = newValue } }
  }

  /// Stores a password, or replaces it.
  ///
  /// - Parameters:
  ///   - password: The password; stored as UTF-8.
  ///   - service: The service, such as `org.example.mail`. With an empty one, the items are all that have no service.
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
  ///   - service: The service. With an empty one, the items are all that have no service.
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
  /// - Throws: ``KeychainError/notFound`` if there is none; ``KeychainError/notText`` for bytes that are not UTF-8; or
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
  /// - Throws: ``KeychainError/notFound`` if there is none; or another ``KeychainError``.
  public static func passwordData(forService service: String, account: String) throws(KeychainError) -> Data {
    try Keychain(service: service).get(account)
  }

  /// Deletes a password, locked or not.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - account: The name of the account.
  /// - Throws: ``KeychainError/notFound`` if there is none; or another ``KeychainError``.
  public static func deletePassword(forService service: String, account: String) throws(KeychainError) {
    try Keychain(service: service).delete(account)
  }

  /// The accounts of a service that have a password, the most recently changed one first.
  ///
  /// - Parameter service: The service.
  /// - Returns: Their names; empty if there is none.
  /// - Throws: A ``KeychainError``.
  public static func accounts(forService service: String) throws(KeychainError) -> [String] {
    try Keychain(service: service).accounts()
  }
}
