public import Foundation

// Names for certificates as items, so that code that uses them compiles. Linux keeps no certificates: see <doc:Porting>.

/// The name of a certificate's issuer.
public nonisolated(unsafe) let kSecAttrIssuer: CFString = "issr"

/// The serial number of a certificate.
public nonisolated(unsafe) let kSecAttrSerialNumber: CFString = "slnr"

/// The hash of a certificate's public key.
public nonisolated(unsafe) let kSecAttrPublicKeyHash: CFString = "pkhh"
