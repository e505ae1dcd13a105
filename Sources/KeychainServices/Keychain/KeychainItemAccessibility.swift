public import LatchkeySecurity

/// When an item can be read: the seven values of `kSecAttrAccessible`.
///
/// <doc:WhenMayItBeRead> says what that means on Linux, and what ends it.
public enum KeychainItemAccessibility: CaseIterable, Hashable, Sendable {
  /// From the first unlock to the end of the session, behind the locked screen too: for programs that work in the background.
  case afterFirstUnlock
  /// As ``afterFirstUnlock``, and on this device alone.
  case afterFirstUnlockThisDeviceOnly
  /// Whenever the vault's service runs. No password protects the item, so choose another class for new items.
  case always
  /// As ``always``, and on this device alone. No password protects it: for no new item.
  case alwaysThisDeviceOnly
  /// As ``whenUnlockedThisDeviceOnly``, and only if the login has a password: the item is destroyed when the password is removed.
  case whenPasscodeSetThisDeviceOnly
  /// While the session is unlocked. The default.
  case whenUnlocked
  /// As ``whenUnlocked``, and on this device alone.
  case whenUnlockedThisDeviceOnly

  /// The constant for queries of one's own: a value of `kSecAttrAccessible`.
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

  /// The accessibility that a constant stands for; nil for any other text.
  ///
  /// - Parameter attributeValue: A value of `kSecAttrAccessible`, as in a result.
  public init?(attributeValue: CFString) {
    guard let match = Self.allCases.first(where: { $0.attributeValue == attributeValue }) else { return nil }
    self = match
  }
}
