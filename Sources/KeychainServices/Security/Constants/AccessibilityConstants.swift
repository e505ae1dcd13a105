public import Foundation

// Values of `kSecAttrAccessible`: when an item can be read.

/// While the session is unlocked, and only if the login has a password. The item is refused without a password, and destroyed
/// with the password.
public nonisolated(unsafe) let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"

/// While the session is unlocked. The default.
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlocked: CFString = "ak"

/// While the session is unlocked; never on another device.
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"

/// From the first unlock to the end of the session: for programs in the background.
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"

/// From the first unlock to the end of the session; never on another device.
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"

/// Whenever the vault runs, before the login too. The vault exists from the very first login with a password on; until then
/// nothing can be stored. Deprecated by Apple: no password protects it.
public nonisolated(unsafe) let kSecAttrAccessibleAlways: CFString = "dk"

/// Whenever the vault runs; never on another device. Deprecated by Apple: no password protects it.
public nonisolated(unsafe) let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
