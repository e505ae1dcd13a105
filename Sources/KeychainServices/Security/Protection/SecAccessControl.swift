public import Foundation
package import LatchkeyItemProtection

/// Says when an item can be read, and what each read requires. It is the value of ``kSecAttrAccessControl``.
///
/// ``SecAccessControlCreateWithFlags(_:_:_:_:)`` makes it, and it never changes. Two objects with the same meaning are equal.
public final class SecAccessControl: NSObject, Sendable {
  /// The accessibility.
  package let accessible: AccessibilityClass
  /// The requirements.
  package let flags: SecAccessControlCreateFlags

  package init(accessible: AccessibilityClass, flags: SecAccessControlCreateFlags) {
    self.accessible = accessible
    self.flags = flags
  }

  /// Whether another object has the same meaning.
  override public func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SecAccessControl else { return false }
    return other.accessible == accessible && other.flags == flags
  }

  /// A hash of the meaning, so that equal objects have equal hashes.
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
/// The rules are Apple's: ``SecAccessControlCreateFlags/or`` and ``SecAccessControlCreateFlags/and`` exclude each other, and so do
/// the two kinds of biometry. ``SecAccessControlCreateFlags/userPresence`` can be combined only with a passphrase and with the flag
/// for private keys. On Linux, bits without a meaning also break a rule, so that nobody believes that they protect something.
///
/// - Parameters:
///   - allocator: Nil.
///   - protection: One of the `kSecAttrAccessible…` values.
///   - flags: The requirements.
///   - error: The place for an error, which has the domain `NSOSStatusErrorDomain` and the code `errSecParam`.
/// - Returns: The access control. Nil, with an error, for any other protection or for flags that contradict each other.
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
