public import Foundation

// The constants are `nonisolated(unsafe)` because corelibs' `NSString` is not `Sendable`: it has a mutable subclass. No constant
// here is an object of that subclass, and no constant is ever changed.

/// The key of an item's class. Every query has one, or a persistent reference.
public nonisolated(unsafe) let kSecClass: CFString = "class"

/// A password for a service: ``kSecAttrService`` and ``kSecAttrAccount`` tell items apart.
public nonisolated(unsafe) let kSecClassGenericPassword: CFString = "genp"

/// A password for an account on a server.
public nonisolated(unsafe) let kSecClassInternetPassword: CFString = "inet"

/// A certificate. On Linux none is ever found, and adding one is `errSecUnimplemented`.
public nonisolated(unsafe) let kSecClassCertificate: CFString = "cert"

/// A cryptographic key. On Linux none is ever found, and adding one is `errSecUnimplemented`.
public nonisolated(unsafe) let kSecClassKey: CFString = "keys"

/// A certificate with its key. On Linux none is ever found, and adding one is `errSecUnimplemented`.
public nonisolated(unsafe) let kSecClassIdentity: CFString = "idnt"
