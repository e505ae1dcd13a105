package import LatchkeyItemProtection

extension AccessibilityClass {
  /// The value of `kSecAttrAccessible`.
  package var constant: String {
    switch self {
    case .whenUnlocked: "ak"
    case .afterFirstUnlock: "ck"
    case .always: "dk"
    case .whenUnlockedThisDeviceOnly: "aku"
    case .afterFirstUnlockThisDeviceOnly: "cku"
    case .alwaysThisDeviceOnly: "dku"
    case .whenPasscodeSetThisDeviceOnly: "akpu"
    }
  }

  /// The class that a value of `kSecAttrAccessible` names; nil for any other text.
  package init?(constant: String) {
    guard let match = AccessibilityClass.allCases.first(where: { $0.constant == constant }) else { return nil }
    self = match
  }
}
