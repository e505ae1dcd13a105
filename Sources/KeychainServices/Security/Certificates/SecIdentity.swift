public import Foundation

/// A certificate with its private key. On Linux there are none. The type exists for code that mentions it.
public final class SecIdentity: NSObject, Sendable {
  override private init() {}
}
