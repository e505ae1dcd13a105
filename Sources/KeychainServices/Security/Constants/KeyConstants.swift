public import Foundation

// Names of keys as items, for code that mentions them. Linux keeps none: <doc:Porting>.

/// The kind of a key.
public nonisolated(unsafe) let kSecAttrKeyType: CFString = "type"

/// An RSA key.
public nonisolated(unsafe) let kSecAttrKeyTypeRSA: CFString = "42"

/// A key of one of NIST's elliptic curves.
public nonisolated(unsafe) let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"

/// How many bits a key has.
public nonisolated(unsafe) let kSecAttrKeySizeInBits: CFString = "bsiz"

/// The tag by which a program finds its key.
public nonisolated(unsafe) let kSecAttrApplicationTag: CFString = "atag"

/// Whether a new key is stored.
public nonisolated(unsafe) let kSecAttrIsPermanent: CFString = "perm"

/// The attributes of a new private key.
public nonisolated(unsafe) let kSecPrivateKeyAttrs: CFString = "private"
