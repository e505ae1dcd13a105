public import Foundation

// Keys of an item's attributes. `AttributeName` says which class has which attributes.

/// When the item can be read: one of the `kSecAttrAccessible…` values. The default is ``kSecAttrAccessibleWhenUnlocked``.
public nonisolated(unsafe) let kSecAttrAccessible: CFString = "pdmn"

/// A ``SecAccessControl``, which says when the item can be read, and what it requires at each read.
public nonisolated(unsafe) let kSecAttrAccessControl: CFString = "accc"

/// The access group. Without this key, a new item goes to the program's first group, and a search covers all groups of the program.
public nonisolated(unsafe) let kSecAttrAccessGroup: CFString = "agrp"

/// Whether Apple's systems would synchronise the item. On Linux nothing is synchronised. A search without this key finds only
/// items that are not synchronizable.
public nonisolated(unsafe) let kSecAttrSynchronizable: CFString = "sync"

/// A value for searches: finds synchronizable items and others.
public nonisolated(unsafe) let kSecAttrSynchronizableAny: CFString = "syna"

/// When the item was stored; set by the vault.
public nonisolated(unsafe) let kSecAttrCreationDate: CFString = "cdat"

/// When the item was last changed; set by the vault.
public nonisolated(unsafe) let kSecAttrModificationDate: CFString = "mdat"

/// The kind of the item, in words for a person.
public nonisolated(unsafe) let kSecAttrDescription: CFString = "desc"

/// The person's own comment.
public nonisolated(unsafe) let kSecAttrComment: CFString = "icmt"

/// The program that made the item: a four-character code as a number.
public nonisolated(unsafe) let kSecAttrCreator: CFString = "crtr"

/// The item's type: a four-character code as a number.
public nonisolated(unsafe) let kSecAttrType: CFString = "type"

/// The item's name, which a person reads.
public nonisolated(unsafe) let kSecAttrLabel: CFString = "labl"

/// Whether programs should leave the item out of lists. The vault stores it as a number.
public nonisolated(unsafe) let kSecAttrIsInvisible: CFString = "invi"

/// Whether the item has no password on purpose, so that the program asks the person each time. The vault stores it as a number.
public nonisolated(unsafe) let kSecAttrIsNegative: CFString = "nega"

/// The account, as text or data. A read returns it in the form in which it was given.
public nonisolated(unsafe) let kSecAttrAccount: CFString = "acct"

/// The service. Generic passwords only.
public nonisolated(unsafe) let kSecAttrService: CFString = "svce"

/// Any data that the program wants to keep with the item. Generic passwords only.
public nonisolated(unsafe) let kSecAttrGeneric: CFString = "gena"

/// The security domain of the server. Internet passwords only.
public nonisolated(unsafe) let kSecAttrSecurityDomain: CFString = "sdmn"

/// The server's name or address. Internet passwords only.
public nonisolated(unsafe) let kSecAttrServer: CFString = "srvr"

/// The protocol: one of the `kSecAttrProtocol…` values. Internet passwords only.
public nonisolated(unsafe) let kSecAttrProtocol: CFString = "ptcl"

/// The way of logging in: one of the `kSecAttrAuthenticationType…` values. Internet passwords only.
public nonisolated(unsafe) let kSecAttrAuthenticationType: CFString = "atyp"

/// The server's port, a number. Internet passwords only.
public nonisolated(unsafe) let kSecAttrPort: CFString = "port"

/// The path on the server. Internet passwords only.
public nonisolated(unsafe) let kSecAttrPath: CFString = "path"
