/// When the secret of an item may be read. The names are Apple's. The raw values are the values in Apple's serialised items.
public enum AccessibilityClass: UInt8, CaseIterable, Sendable {
  /// `kSecAttrAccessibleWhenUnlocked` (ak): while the session is unlocked. The default.
  case whenUnlocked = 6
  /// `kSecAttrAccessibleAfterFirstUnlock` (ck): from the first unlock to the end of the session.
  case afterFirstUnlock = 7
  /// `kSecAttrAccessibleAlways` (dk): whenever the daemon runs. Deprecated.
  case always = 8
  /// `kSecAttrAccessibleWhenUnlockedThisDeviceOnly` (aku).
  case whenUnlockedThisDeviceOnly = 9
  /// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly` (cku).
  case afterFirstUnlockThisDeviceOnly = 10
  /// `kSecAttrAccessibleAlwaysThisDeviceOnly` (dku). Deprecated.
  case alwaysThisDeviceOnly = 11
  /// `kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly` (akpu): while unlocked, and only if the login has a password. The item is
  /// destroyed when the password is removed.
  case whenPasscodeSetThisDeviceOnly = 12

  /// The key above a class key, and with it the time in which the class can be read.
  public enum Tier: Sendable {
    /// Tier key A: while unlocked.
    case unlocked
    /// Tier key C: from the first unlock to the end of the session.
    case session
    /// No tier key: the device key alone.
    case device
  }

  /// Which tier key the class key depends on.
  public var tier: Tier {
    switch self {
    case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: .unlocked
    case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: .session
    case .always, .alwaysThisDeviceOnly: .device
    }
  }

  /// Which tier key the labels and attributes depend on. Searches must work behind the locked screen, so for most classes this
  /// key stays longer than the key of the secret.
  public var metadataTier: Tier {
    self == .whenPasscodeSetThisDeviceOnly ? .unlocked : tier == .device ? .device : .session
  }

  /// Whether the class key also needs the device key.
  public var isBoundToDevice: Bool {
    switch self {
    case .whenUnlocked, .afterFirstUnlock: false
    case .always, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly,
      .whenPasscodeSetThisDeviceOnly:
      true
    }
  }

  /// Whether no password protects the class at all. Such a class exists for programs that name it, and its use causes a warning.
  public var isDeprecated: Bool { tier == .device }

  /// Whether secrets of the class leave this device, in a backup at least.
  public var migrates: Bool {
    switch self {
    case .whenUnlocked, .afterFirstUnlock, .always: true
    case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly,
      .whenPasscodeSetThisDeviceOnly:
      false
    }
  }

  /// The class that has the conditions of both classes.
  public func joined(with other: AccessibilityClass) -> AccessibilityClass {
    if self == .whenPasscodeSetThisDeviceOnly || other == .whenPasscodeSetThisDeviceOnly {
      return .whenPasscodeSetThisDeviceOnly
    }
    let migrates = migrates && other.migrates
    if tier == .unlocked || other.tier == .unlocked {
      return migrates ? .whenUnlocked : .whenUnlockedThisDeviceOnly
    }
    if tier == .session || other.tier == .session {
      return migrates ? .afterFirstUnlock : .afterFirstUnlockThisDeviceOnly
    }
    return migrates ? .always : .alwaysThisDeviceOnly
  }

  /// Whether new items, sealed to the class's public key, may be stored while the class key is erased.
  public var acceptsWhileLocked: Bool { self == .whenUnlocked || self == .whenUnlockedThisDeviceOnly }

  /// The name on the command line and in the attribute `latchkey:accessible`.
  public var name: String {
    switch self {
    case .whenUnlocked: "when-unlocked"
    case .afterFirstUnlock: "after-first-unlock"
    case .always: "always"
    case .whenUnlockedThisDeviceOnly: "when-unlocked-this-device-only"
    case .afterFirstUnlockThisDeviceOnly: "after-first-unlock-this-device-only"
    case .alwaysThisDeviceOnly: "always-this-device-only"
    case .whenPasscodeSetThisDeviceOnly: "when-passcode-set-this-device-only"
    }
  }

  /// The class of a ``name``; nil for any other text.
  public init?(name: String) {
    guard let match = AccessibilityClass.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}
