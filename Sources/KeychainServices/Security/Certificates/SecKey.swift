public import Foundation

/// A cryptographic key. Linux has no such keys. The type exists so that code that names it compiles.
public final class SecKey: NSObject, Sendable {
  override private init() {}
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Always fails, because Linux has no place for keys. Use swift-crypto, and keep the key's bytes as the data of a generic password.
///
/// - Parameters:
///   - parameters: Ignored.
///   - error: The place for the error, which has the domain `NSOSStatusErrorDomain` and the code `errSecUnimplemented`.
/// - Returns: Nil.
public func SecKeyCreateRandomKey(
  _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
  error?.pointee = .passRetained(
    NSError(
      domain: NSOSStatusErrorDomain, code: Int(errSecUnimplemented),
      userInfo: [NSLocalizedDescriptionKey: "keys are not available on Linux; use swift-crypto"]))
  return nil
}
