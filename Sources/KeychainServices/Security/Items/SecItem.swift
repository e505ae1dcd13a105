public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Stores an item.
///
/// An item that can be read only while the vault is unlocked can also be stored only while it is unlocked. If the vault is locked,
/// the call asks the person once to unlock it. Behind a screen locker, or if the program forbids questions, the result is
/// `errSecInteractionNotAllowed`.
///
/// - Parameters:
///   - attributes: The class, attributes and secret of the item, and what to return.
///   - result: The place for the result; nil if the program wants none.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecDuplicateItem` (-25299): an item with the same class, access group, account and service (for Internet
///     passwords account, server, port and so on) exists.
///   - `errSecInteractionNotAllowed` (-25308): the vault is locked, or the item needs a new passphrase, but the person was not
///     asked or did not answer.
///   - `errSecUserCanceled` (-128): the person dismissed the prompt.
///   - `errSecAuthFailed` (-25293): the person's answers were wrong, the context is invalidated, no finger is
///     enrolled for an item of `biometryCurrentSet`, or the login has no password for
///     ``kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly``.
///   - `errSecParam` (-50), `errSecNoSuchAttr` (-25303), `errSecNoSuchClass` (-25306): the dictionary is wrong.
///   - `errSecUnimplemented` (-4): Linux has no such item, requirement or result: no key, certificate or identity.
///   - `errSecMissingEntitlement` (-34018): the program did not declare the access group, or its file of entitlements
///     cannot be read, is malformed or names no group.
///   - `errSecDataTooLarge` (-25302): the secret has more than 32 MiB, the attributes have more than 16 MiB together,
///     or the vault has no memory left.
///   - `errSecDiskFull` (-34): the disk has no room for the item.
///   - `errSecIO` (-36): the answer was lost, so the item may be stored.
///   - `errSecItemNotFound` (-25300): another program deleted the item before the call could return it.
///   - `errSecNotAvailable` (-25291): there is no vault, or its files or its device key cannot be used.
///   - `errSecAllocate` (-108), `errSecInternalComponent` (-2070): the program has no memory left, or the vault's
///     reply is invalid.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  ItemService.shared.add(attributes, result)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Finds items. Without ``kSecMatchLimit`` the result is one item. If only the secret or only a persistent reference was requested,
/// it comes as data. Everything else comes in a dictionary, and several items come in an array. If the query requests no result,
/// the code says whether there is an item.
///
/// The call finds items that other programs stored with `libsecret` only if the query names their service or server, or by a
/// persistent reference. They belong to the program's first access group and are not synchronizable.
///
/// If a matching item is locked, the call asks the person once to unlock the vault. Behind a screen locker it asks nobody. An item
/// with an access control needs an answer only if its secret is requested.
///
/// - Parameters:
///   - query: The class and attributes of the items, and what to return of them.
///   - result: The place for the result.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecItemNotFound` (-25300): nothing matches, as always for keys, certificates and identities.
///   - `errSecInteractionNotAllowed` (-25308): a match is locked, or requires an answer and the person was not asked or did not
///     answer.
///   - `errSecUserCanceled` (-128): the person dismissed the prompt.
///   - `errSecAuthFailed` (-25293): an answer of the person or the program was wrong, other fingers are enrolled than
///     the item requires, or the context is invalidated.
///   - `errSecParam` (-50), `errSecNoSuchAttr` (-25303), `errSecNoSuchClass` (-25306): the query is wrong.
///   - `errSecUnimplemented` (-4): Linux has no results or search terms of that kind.
///   - `errSecMissingEntitlement` (-34018): the program did not declare the access group, or its file of entitlements
///     cannot be read, is malformed or names no group.
///   - `errSecDecode` (-26275): an item is damaged.
///   - `errSecDataTooLarge` (-25302): the result does not fit into one reply of the vault (64 MiB). Narrow the query,
///     or set a limit.
///   - `errSecNotAvailable` (-25291): there is no vault, or its files or its device key cannot be used.
///   - `errSecAllocate` (-108), `errSecInternalComponent` (-2070): the program has no memory left, or the vault's
///     reply is invalid.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  ItemService.shared.copyMatching(query, result)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Changes all items that match, or none.
///
/// An item with an access control enforces it before the change. A new access control is set in a separate step, after the rest.
///
/// - Parameters:
///   - query: The class and attributes of the items. A ``kSecMatchLimit`` or a requested result returns `errSecParam`.
///   - attributesToUpdate: The new attributes and secret. No other key is allowed, not even the class.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecItemNotFound` (-25300): nothing matches, as always for keys, certificates and identities.
///   - `errSecDuplicateItem` (-25299): another item would have the same primary attributes.
///   - `errSecInteractionNotAllowed` (-25308): a match or the new class is locked, or a match requires an answer and the person was
///     not asked or did not answer.
///   - `errSecUserCanceled` (-128): the person dismissed the prompt.
///   - `errSecAuthFailed` (-25293): an answer of the person or the program was wrong, other fingers are enrolled than
///     the item requires, none is enrolled for a new requirement, the login has no password for the new class, or the
///     context is invalidated.
///   - `errSecParam` (-50), `errSecNoSuchAttr` (-25303), `errSecNoSuchClass` (-25306): a dictionary is wrong.
///     `errSecNoSuchAttr` is also for a key that no update can change.
///   - `errSecNoAccessForItem` (-25243): the new access group is not one of the program's, or another program stored
///     the item.
///   - `errSecMissingEntitlement` (-34018): the program did not declare the access group of the query, or its file of
///     entitlements cannot be read, is malformed or names no group.
///   - `errSecUnimplemented` (-4): Linux has no requirements or search terms of that kind.
///   - `errSecDataTooLarge` (-25302): a secret or attributes are too large, as in ``SecItemAdd(_:_:)``, or the query
///     matches more than 4096 items.
///   - `errSecDiskFull` (-34): the disk has no room for the change.
///   - `errSecIO` (-36): the answer was lost, so the items may be changed.
///   - `errSecDecode` (-26275): an item is damaged.
///   - `errSecNotAvailable` (-25291): there is no vault, or its files or its device key cannot be used.
///   - `errSecAllocate` (-108), `errSecInternalComponent` (-2070): the program has no memory left, or the vault's
///     reply is invalid.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  ItemService.shared.update(query, attributesToUpdate)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Deletes all items that match, even locked items, without asking the person. One step deletes up to 4096 items, all or none.
///
/// Before the first login the vault cannot read the attributes of an item. Its search alone may then not tell whether an item
/// matches, for example an item of another program. In this case the vault first asks the person to unlock it. The same happens
/// while the session is locked, for items of ``kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly``.
///
/// - Parameter query: The class and attributes of the items. The only limit that it accepts is ``kSecMatchLimitAll``, which changes
///   nothing.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecItemNotFound` (-25300): nothing matches, as always for keys, certificates and identities.
///   - `errSecInteractionNotAllowed` (-25308): the vault must be unlocked first, but the person was not asked or did not answer.
///   - `errSecUserCanceled` (-128): the person dismissed the prompt.
///   - `errSecAuthFailed` (-25293): the person's answers were wrong, or the context is invalidated.
///   - `errSecParam` (-50), `errSecNoSuchAttr` (-25303), `errSecNoSuchClass` (-25306): the query is wrong.
///   - `errSecUnimplemented` (-4): Linux has no search terms of that kind.
///   - `errSecMissingEntitlement` (-34018): the program did not declare the access group, or its file of entitlements
///     cannot be read, is malformed or names no group.
///   - `errSecIO` (-36): the answer was lost, so the items may be deleted.
///   - `errSecDiskFull` (-34): the disk has no room for the change.
///   - `errSecDecode` (-26275): the only matches are damaged.
///   - `errSecDataTooLarge` (-25302): the attributes of all matches do not fit into one reply of the vault (64 MiB).
///     Narrow the query.
///   - `errSecNotAvailable` (-25291): there is no vault, or its files or its device key cannot be used.
///   - `errSecInternalComponent` (-2070): the vault's reply is invalid.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  ItemService.shared.delete(query)
}
