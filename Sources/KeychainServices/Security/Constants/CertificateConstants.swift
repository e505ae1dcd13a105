public import Foundation

// Names of certificates as items, for code that mentions them. Linux keeps none: <doc:Porting>.

/// The name of a certificate's issuer.
public nonisolated(unsafe) let kSecAttrIssuer: CFString = "issr"

/// The serial number of a certificate.
public nonisolated(unsafe) let kSecAttrSerialNumber: CFString = "slnr"

/// The hash of a certificate's public key.
public nonisolated(unsafe) let kSecAttrPublicKeyHash: CFString = "pkhh"
