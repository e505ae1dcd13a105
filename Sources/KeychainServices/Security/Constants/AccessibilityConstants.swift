public import Foundation

// Values of `kSecAttrAccessible`, which say when an item can be read.

/// While the session is unlocked, and only if the login has a password. If there is no password, the item is refused. If the
/// password is removed, the item is destroyed.
public nonisolated(unsafe) let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"

/// While the session is unlocked. This is the default.
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlocked: CFString = "ak"

/// While the session is unlocked; never on another device.
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"

/// From the first unlock to the end of the session. Use it for programs that work in the background.
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"

/// From the first unlock to the end of the session; never on another device.
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"

/// Whenever the vault runs, even before the login. The very first login with a password creates the vault, so nothing can be stored
/// before that login. Apple has deprecated this value, because no password protects the item.
public nonisolated(unsafe) let kSecAttrAccessibleAlways: CFString = "dk"

/// Whenever the vault runs; never on another device. Apple has deprecated this value, because no password protects the item.
public nonisolated(unsafe) let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
