public import Foundation

// Keys of an item's attributes. Which class has which stands in `AttributeName`.

/// When the item can be read: one of the `kSecAttrAccessible…` values. Without, ``kSecAttrAccessibleWhenUnlocked``.
public nonisolated(unsafe) let kSecAttrAccessible: CFString = "pdmn"

/// A ``SecAccessControl``: when the item can be read, and what is asked for each time.
public nonisolated(unsafe) let kSecAttrAccessControl: CFString = "accc"

/// The access group. Without, a new item goes to the program's first group, and a search covers all of its groups.
public nonisolated(unsafe) let kSecAttrAccessGroup: CFString = "agrp"

/// Whether Apple's systems would synchronise the item. On Linux nothing is synchronised. A search without this key finds only
/// items that are not synchronizable.
public nonisolated(unsafe) let kSecAttrSynchronizable: CFString = "sync"

/// For searches: items of both sets.
public nonisolated(unsafe) let kSecAttrSynchronizableAny: CFString = "syna"

/// When the item was stored; set by the vault.
public nonisolated(unsafe) let kSecAttrCreationDate: CFString = "cdat"

/// When the item was last changed; set by the vault.
public nonisolated(unsafe) let kSecAttrModificationDate: CFString = "mdat"

/// The kind of item, for a person.
public nonisolated(unsafe) let kSecAttrDescription: CFString = "desc"

/// The person's own comment.
public nonisolated(unsafe) let kSecAttrComment: CFString = "icmt"

/// Which program made the item: a four-character code as a number.
public nonisolated(unsafe) let kSecAttrCreator: CFString = "crtr"

/// The item's type: a four-character code as a number.
public nonisolated(unsafe) let kSecAttrType: CFString = "type"

/// The item's name, for a person.
public nonisolated(unsafe) let kSecAttrLabel: CFString = "labl"

/// Whether the item is kept out of lists. Kept as a number.
public nonisolated(unsafe) let kSecAttrIsInvisible: CFString = "invi"

/// Whether the item says that there is no password, so that the person is asked each time. Kept as a number.
public nonisolated(unsafe) let kSecAttrIsNegative: CFString = "nega"

/// The account: text or data, and read back as it was given.
public nonisolated(unsafe) let kSecAttrAccount: CFString = "acct"

/// The service. Generic passwords only.
public nonisolated(unsafe) let kSecAttrService: CFString = "svce"

/// Anything the program wants to keep with the item. Generic passwords only.
public nonisolated(unsafe) let kSecAttrGeneric: CFString = "gena"

/// The security domain of the server. Internet passwords only.
public nonisolated(unsafe) let kSecAttrSecurityDomain: CFString = "sdmn"

/// The server's name or address. Internet passwords only.
public nonisolated(unsafe) let kSecAttrServer: CFString = "srvr"

/// The protocol: one of the `kSecAttrProtocol…` values. Internet passwords only.
public nonisolated(unsafe) let kSecAttrProtocol: CFString = "ptcl"

/// How one logs in: one of the `kSecAttrAuthenticationType…` values. Internet passwords only.
public nonisolated(unsafe) let kSecAttrAuthenticationType: CFString = "atyp"

/// The server's port, a number. Internet passwords only.
public nonisolated(unsafe) let kSecAttrPort: CFString = "port"

/// The path on the server. Internet passwords only.
public nonisolated(unsafe) let kSecAttrPath: CFString = "path"
