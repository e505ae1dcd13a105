public import Foundation

// The kinds of result of a call, and the number of items.

/// Return the secret.
public nonisolated(unsafe) let kSecReturnData: CFString = "r_Data"

/// Return the attributes, in a dictionary, without the secret.
public nonisolated(unsafe) let kSecReturnAttributes: CFString = "r_Attributes"

/// Return a reference object. Passwords have none on Linux. Together with other kinds, this key only makes the result a dictionary.
/// Alone, it returns `errSecUnimplemented`.
public nonisolated(unsafe) let kSecReturnRef: CFString = "r_Ref"

/// Return data that names the item, for ``kSecValuePersistentRef``. The data are valid in other processes and after a restart.
public nonisolated(unsafe) let kSecReturnPersistentRef: CFString = "r_PersistentRef"

/// The secret, as data.
public nonisolated(unsafe) let kSecValueData: CFString = "v_Data"

/// A reference object as a search term. Linux has no such objects, so a search by one finds nothing. Together with the class of a
/// password, it returns `errSecUnimplemented`.
public nonisolated(unsafe) let kSecValueRef: CFString = "v_Ref"

/// A persistent reference as a search term. The query may have no attribute in addition.
public nonisolated(unsafe) let kSecValuePersistentRef: CFString = "v_PersistentRef"

/// How many items a search returns: ``kSecMatchLimitOne``, ``kSecMatchLimitAll`` or a number. Updates and deletions act on all
/// matches. So an update accepts no limit, and a deletion accepts only ``kSecMatchLimitAll``.
public nonisolated(unsafe) let kSecMatchLimit: CFString = "m_Limit"

/// One item, not in an array: the oldest match. This is the default.
public nonisolated(unsafe) let kSecMatchLimitOne: CFString = "m_LimitOne"

/// All items, in an array.
public nonisolated(unsafe) let kSecMatchLimitAll: CFString = "m_LimitAll"

/// Not available on Linux: a query with this key returns `errSecUnimplemented`. Find each item by its persistent reference instead.
public nonisolated(unsafe) let kSecMatchItemList: CFString = "m_ItemList"
