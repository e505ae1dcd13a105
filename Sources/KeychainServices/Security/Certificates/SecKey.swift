public import Foundation

/// A cryptographic key. On Linux there are none. The type exists for code that mentions it.
public final class SecKey: NSObject, Sendable {
  override private init() {}
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Makes no key, because Linux has no place for it. Use swift-crypto, and keep the key's bytes as the data of a generic
/// password.
///
/// - Parameters:
///   - parameters: Of no use.
///   - error: Where the error goes: of the domain `NSOSStatusErrorDomain`, code `errSecUnimplemented`.
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
