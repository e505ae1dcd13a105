/// The part of an `LAContext` that this library uses. LocalAuthentication imports Security, and Security does not import
/// LocalAuthentication. So a program without contexts builds without that module.
package protocol AuthenticationContext: AnyObject, Sendable {
  /// Whether the program has invalidated the context.
  var isInvalidated: Bool { get }
  /// Whether the program forbids questions to the person.
  var forbidsInteraction: Bool { get }
  /// The text for the person when they are asked; nil if there is none.
  var reason: String? { get }
  /// The word on the button that dismisses the question; nil for the usual one.
  var cancelTitle: String? { get }
  /// The seconds for which one answer of the person is enough. With 0, each read needs an answer.
  var reuseDuration: Double { get }
  /// An object that a store keeps in the context, until the context is invalidated or freed.
  var companion: (any AnyObject & Sendable)? { get set }
  /// The number of passphrases of this program's contexts that the kernel did not lock in memory.
  var lockFailures: UInt64 { get }
  /// Lends the passphrase that the program gave; nil if there is none.
  func withPassphrase<Result>(_ body: (RawSpan) -> Result) -> Result?
}
