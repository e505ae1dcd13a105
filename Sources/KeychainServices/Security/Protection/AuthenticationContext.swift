/// The view that this library has of an `LAContext`. LocalAuthentication knows Security and not the other way round, so that
/// a program without contexts builds without that module.
package protocol AuthenticationContext: AnyObject, Sendable {
  /// Whether the program invalidated it.
  var isInvalidated: Bool { get }
  /// Whether the program forbids to ask the person.
  var forbidsInteraction: Bool { get }
  /// The text for the person when they are asked; nil without one.
  var reason: String? { get }
  /// The word on the button that dismisses the question; nil for the usual one.
  var cancelTitle: String? { get }
  /// For how many seconds one showing of a finger is enough; 0 for each time.
  var reuseDuration: Double { get }
  /// An object that a store keeps with it, until the context is invalidated or ends.
  var companion: (any AnyObject & Sendable)? { get set }
  /// How many passphrases of this program's contexts the kernel did not lock in memory.
  var lockFailures: UInt64 { get }
  /// Lends the passphrase that the program gave; nil for none.
  func withPassphrase<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result?
}
