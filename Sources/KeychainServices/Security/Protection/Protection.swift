package import LatchkeyItemProtection

/// An item's accessibility and requirements, which come from `kSecAttrAccessible` and `kSecAttrAccessControl`.
package struct Protection: Hashable, Sendable {
  /// The accessibility.
  package let accessible: AccessibilityClass
  /// The requirements.
  package let control: AccessControl

  /// The protection of an item whose program named none.
  package static let standard = Protection(accessible: .whenUnlocked, control: .none)

  package init(accessible: AccessibilityClass, control: AccessControl) {
    self.accessible = accessible
    self.control = control
  }

  /// Reads an access control, and keeps the part that the vault can enforce.
  ///
  /// Some valid flags have no use for a password on Linux. `or` and `and` without a condition combine nothing, so they are left
  /// out. A watch with `or` and another condition is left out too, because the other condition is enough.
  ///
  /// - Throws: `errSecParam` for ``SecAccessControlCreateFlags/privateKeyUsage``; `errSecUnimplemented` if a watch is required.
  init(_ object: SecAccessControl) throws(ItemFailure) {
    var flags = object.flags
    guard !flags.contains(.privateKeyUsage) else { throw .parameter.naming("accc") }
    let conditions: SecAccessControlCreateFlags = [
      .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode,
    ]
    if flags.contains(.watch) {
      guard flags.contains(.or), !flags.isDisjoint(with: conditions) else { throw ItemFailure(errSecUnimplemented) }
      flags.remove(.watch)
    }
    if flags.isDisjoint(with: conditions) { flags.subtract([.or, .and]) }
    guard let bits = UInt32(exactly: flags.rawValue), let control = try? AccessControl(rawValue: bits) else {
      throw .parameter.naming("accc")
    }
    self.init(accessible: object.accessible, control: control)
  }

  /// The protection as an object, for a result.
  var object: SecAccessControl {
    SecAccessControl(accessible: accessible, flags: SecAccessControlCreateFlags(rawValue: UInt(control.rawValue)))
  }
}
