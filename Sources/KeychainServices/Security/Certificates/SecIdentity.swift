public import Foundation

/// A certificate with its private key. Linux has no identities. The type exists so that code that names it compiles.
public final class SecIdentity: NSObject, Sendable {
  override private init() {}
}
