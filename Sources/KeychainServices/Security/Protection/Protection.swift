package import LatchkeyItemProtection

/// An item's class and requirements, as the vault keeps them of `kSecAttrAccessible` and `kSecAttrAccessControl`.
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

  /// Takes the part that the vault can keep.
  ///
  /// Flags may be valid and yet of no use for a password here. `or` and `and` without a condition combine nothing and are
  /// left out; so is a watch beside another condition with `or`, as that other one is enough.
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
