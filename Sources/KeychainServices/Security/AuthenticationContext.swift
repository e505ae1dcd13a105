/// What an `LAContext` tells this library. LocalAuthentication knows Security and not the other way round, so that a program
/// without contexts builds without that module.
package protocol AuthenticationContext: AnyObject, Sendable {
  /// Whether the program invalidated it.
  var isInvalidated: Bool { get }
  /// Whether the program forbids to ask the person.
  var forbidsInteraction: Bool { get }
  /// What the person reads when they are asked; nil for nothing.
  var reason: String? { get }
  /// The word on the button that dismisses the question; nil for the usual one.
  var cancelTitle: String? { get }
  /// For how many seconds one showing of a finger is enough; 0 for each time.
  var reuseDuration: Double { get }
  /// What a store keeps with it: gone when the context is invalidated or ends.
  var companion: (any AnyObject & Sendable)? { get set }
  /// Lends the passphrase that the program gave; nil for none.
  func withPassphrase<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result?
}
