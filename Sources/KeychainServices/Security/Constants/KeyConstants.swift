public import Foundation

// Names for keys as items, so that code that uses them compiles. Linux keeps no keys: see <doc:Porting>.

/// The kind of a key.
public nonisolated(unsafe) let kSecAttrKeyType: CFString = "type"

/// An RSA key.
public nonisolated(unsafe) let kSecAttrKeyTypeRSA: CFString = "42"

/// A key of one of NIST's elliptic curves.
public nonisolated(unsafe) let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"

/// The size of a key in bits.
public nonisolated(unsafe) let kSecAttrKeySizeInBits: CFString = "bsiz"

/// The tag by which a program finds its key.
public nonisolated(unsafe) let kSecAttrApplicationTag: CFString = "atag"

/// Whether a new key is stored permanently.
public nonisolated(unsafe) let kSecAttrIsPermanent: CFString = "perm"

/// The attributes of a new private key.
public nonisolated(unsafe) let kSecPrivateKeyAttrs: CFString = "private"
