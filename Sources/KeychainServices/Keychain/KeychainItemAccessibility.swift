public import LatchkeySecurity

/// When an item can be read: the seven values of `kSecAttrAccessible`.
///
/// <doc:WhenMayItBeRead> says what each value means on Linux.
public enum KeychainItemAccessibility: CaseIterable, Hashable, Sendable {
  /// From the first unlock to the end of the session, behind the locked screen too. Use it for programs that work in the
  /// background.
  case afterFirstUnlock
  /// Like ``afterFirstUnlock``, but only on this device.
  case afterFirstUnlockThisDeviceOnly
  /// Whenever the vault's service runs. No password protects the item, so choose another class for new items.
  case always
  /// Like ``always``, but only on this device. No password protects the item, so choose another class for new items.
  case alwaysThisDeviceOnly
  /// Like ``whenUnlockedThisDeviceOnly``, but only if the login has a password. The item is destroyed when the password is removed.
  case whenPasscodeSetThisDeviceOnly
  /// While the session is unlocked. This is the default.
  case whenUnlocked
  /// Like ``whenUnlocked``, but only on this device.
  case whenUnlockedThisDeviceOnly

  /// The constant for a program's own queries, a value of `kSecAttrAccessible`.
  public var attributeValue: CFString {
    switch self {
    case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
    case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    case .always: kSecAttrAccessibleAlways
    case .alwaysThisDeviceOnly: kSecAttrAccessibleAlwaysThisDeviceOnly
    case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
    case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
    case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
    }
  }

  /// The accessibility of a constant; nil for any other text.
  ///
  /// - Parameter attributeValue: A value of `kSecAttrAccessible`, for example from a result.
  public init?(attributeValue: CFString) {
    guard let match = Self.allCases.first(where: { $0.attributeValue == attributeValue }) else { return nil }
    self = match
  }
}
