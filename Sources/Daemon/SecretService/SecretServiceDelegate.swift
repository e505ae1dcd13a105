import LatchkeyKeybag
import LatchkeyVault

/// The view that the objects on the bus have of the daemon around the vault.
public protocol SecretServiceDelegate: AnyObject {
  /// Whether a locker covers the screen now, so that nobody can be asked.
  var isLockerUp: Bool { get }
  /// The class of a new item with these attributes, if its client names no class.
  func defaultClass(for attributes: [String: String]) -> AccessibilityClass
  /// Looks at the vault's files again, if it has no database.
  func lookAgain()
  /// Asks which fingers are enrolled now, and calls back later.
  func presentFingers(_ answer: @escaping (Result<FingerSet, VaultError>) -> Void)
}
