public import Foundation

/// A cryptographic key. On Linux there are none: the name is there for code that mentions it.
public final class SecKey: NSObject, Sendable {
  override private init() {}
}
