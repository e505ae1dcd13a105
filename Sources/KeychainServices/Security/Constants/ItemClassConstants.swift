public import Foundation

// The constants are `nonisolated(unsafe)` because Linux's `NSString` is not `Sendable`, as it has a mutable subclass. No constant
// here belongs to that subclass, and no constant ever changes.

/// The key of an item's class. Every query has this key or a persistent reference.
public nonisolated(unsafe) let kSecClass: CFString = "class"

/// A password for a service. Two such items differ in ``kSecAttrService`` or ``kSecAttrAccount``.
public nonisolated(unsafe) let kSecClassGenericPassword: CFString = "genp"

/// A password for an account on a server.
public nonisolated(unsafe) let kSecClassInternetPassword: CFString = "inet"

/// A certificate. On Linux a search never finds one, and adding one returns `errSecUnimplemented`.
public nonisolated(unsafe) let kSecClassCertificate: CFString = "cert"

/// A cryptographic key. On Linux a search never finds one, and adding one returns `errSecUnimplemented`.
public nonisolated(unsafe) let kSecClassKey: CFString = "keys"

/// A certificate with its key. On Linux a search never finds one, and adding one returns `errSecUnimplemented`.
public nonisolated(unsafe) let kSecClassIdentity: CFString = "idnt"
