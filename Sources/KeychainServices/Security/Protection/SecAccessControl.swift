public import Foundation
package import LatchkeyItemProtection

/// When an item can be read, and its requirements for each read: the value of ``kSecAttrAccessControl``.
///
/// Made by ``SecAccessControlCreateWithFlags(_:_:_:_:)``; it does not change. Two with the same meaning are equal.
public final class SecAccessControl: NSObject, Sendable {
  /// The accessibility.
  package let accessible: AccessibilityClass
  /// The requirements.
  package let flags: SecAccessControlCreateFlags

  package init(accessible: AccessibilityClass, flags: SecAccessControlCreateFlags) {
    self.accessible = accessible
    self.flags = flags
  }

  /// Whether another one means the same.
  override public func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SecAccessControl else { return false }
    return other.accessible == accessible && other.flags == flags
  }

  /// Equal objects have equal hashes.
  override public var hash: Int {
    var hasher = Hasher()
    hasher.combine(accessible)
    hasher.combine(flags)
    return hasher.finalize()
  }

  /// The accessibility's short name and the flags' bits.
  override public var description: String {
    "<SecAccessControl: \(accessible.constant)\(flags.isEmpty ? "" : "; flags 0x" + String(flags.rawValue, radix: 16))>"
  }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Makes the value of ``kSecAttrAccessControl``.
///
/// The rules are Apple's: ``SecAccessControlCreateFlags/or`` and ``SecAccessControlCreateFlags/and`` exclude each other, as
/// do the two kinds of biometry, and ``SecAccessControlCreateFlags/userPresence`` goes only with a passphrase and with
/// private keys. On Linux, bits without a meaning break a rule too, so that nobody believes that they protect something.
///
/// - Parameters:
///   - allocator: Nil.
///   - protection: One of the `kSecAttrAccessible…` values.
///   - flags: The requirements.
///   - error: Where an error goes: of the domain `NSOSStatusErrorDomain`, code `errSecParam`.
/// - Returns: Nil, with an error, for any other protection or flags that do not go together.
public func SecAccessControlCreateWithFlags(
  _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
  guard let text = protection as? String, let accessible = AccessibilityClass(constant: text) else {
    error?.pointee = .passRetained(.parameter("the protection is no kSecAttrAccessible value"))
    return nil
  }
  if let rule = flags.brokenRule {
    error?.pointee = .passRetained(.parameter(rule))
    return nil
  }
  return SecAccessControl(accessible: accessible, flags: flags)
}

extension NSError {
  fileprivate static func parameter(_ reason: String) -> NSError {
    NSError(
      domain: NSOSStatusErrorDomain, code: Int(errSecParam), userInfo: [NSLocalizedDescriptionKey: reason])
  }
}
