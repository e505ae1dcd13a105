public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Stores an item.
///
/// An item that can be read only while the vault is unlocked can be stored only then. If the vault is locked, the person is
/// asked to unlock it, once in a call. Behind a screen locker, or if the program forbids to ask, the result is
/// `errSecInteractionNotAllowed`.
///
/// - Parameters:
///   - attributes: The class, attributes and secret of the item, and what to return.
///   - result: The place for the result; nil if none is wanted.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecDuplicateItem` (-25299): an item with the same class, access group, account and service (for Internet
///     passwords account, server, port and so on) exists.
///   - `errSecInteractionNotAllowed` (-25308): the vault is locked, or the item needs a new passphrase, and the
///     person was not asked or did not answer.
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
///   - `errSecDiskFull` (-34): the disk has no room for it.
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
/// Finds items.
///
/// Without ``kSecMatchLimit`` the result is one item. The secret alone or a persistent reference alone comes as data, everything
/// else in a dictionary, and several items in an array. If the query names no result, the code says whether there is an item.
///
/// Items that other programs stored with `libsecret` are found if the query names their service or their server, and by a
/// persistent reference. They belong to the program's first access group and are not synchronizable.
///
/// If a matching item is locked, the person is asked to unlock the vault, once in a call. Behind a screen locker nobody is
/// asked. An item with an access control asks only if its secret is to be returned.
///
/// - Parameters:
///   - query: The class and attributes of the items, and what to return of them.
///   - result: Where the result is stored.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecItemNotFound` (-25300): nothing matches, as always for keys, certificates and identities.
///   - `errSecInteractionNotAllowed` (-25308): a match is locked or requires the person, who was not asked or did not
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
/// An item with an access control enforces it before the change. A new access control is set after the rest, in a step of its
/// own.
///
/// - Parameters:
///   - query: The class and attributes of the items. Any ``kSecMatchLimit`` in it is `errSecParam`, and so is a result to return.
///   - attributesToUpdate: The new attributes and secret. No other key is allowed, not even the class.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecItemNotFound` (-25300): nothing matches, as always for keys, certificates and identities.
///   - `errSecDuplicateItem` (-25299): another item would have the same primary attributes.
///   - `errSecInteractionNotAllowed` (-25308): a match or the new class is locked, or a match requires the person,
///     who was not asked or did not answer.
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
/// Deletes all items that match, locked or not, without asking. Up to 4096 of them are deleted in one step: all, or none.
///
/// Before the first login the vault cannot read the attributes of an item. A query that it cannot decide by its search alone,
/// and one that also finds items of other programs, has the person unlock the vault first. The same holds while the session
/// is locked, for items of ``kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly``.
///
/// - Parameter query: The class and attributes of the items. Of limits it accepts ``kSecMatchLimitAll`` alone, which changes
///   nothing.
/// - Returns: `errSecSuccess`, or one of these codes. <doc:ErrorCodes> says what to do for each.
///   - `errSecItemNotFound` (-25300): nothing matches, as always for keys, certificates and identities.
///   - `errSecInteractionNotAllowed` (-25308): the vault has to be unlocked first, and the person was not asked or
///     did not answer.
///   - `errSecUserCanceled` (-128): the person dismissed that prompt.
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
