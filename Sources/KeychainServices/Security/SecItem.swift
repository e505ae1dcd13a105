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
/// - Returns: `errSecSuccess`, or the reason why nothing was stored: `errSecDuplicateItem` if an item with the same class,
///   access group, account and service (for Internet passwords account, server, port and so on) exists.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  ItemService.shared.add(attributes, result)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Finds items.
///
/// Without ``kSecMatchLimit`` it is one item. The secret alone or a persistent reference alone comes as data, everything else
/// in a dictionary, several items in an array. Where nothing is asked for, the code says whether there is one.
///
/// Items that other programs stored with `libsecret` are found where the query names their service, or their server, or by a
/// persistent reference. They belong to the program's first access group and are not synchronizable.
///
/// Where a matching item is locked the person is asked to open the vault, once in a call, and not behind a screen locker. An
/// item with an access control asks only when its secret is returned.
///
/// - Parameters:
///   - query: The class and attributes of the items, and what to return of them.
///   - result: Where the result is stored.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` if nothing matches; `errSecNotAvailable` without a session bus or a
///   vault. `errSecInteractionNotAllowed` if an item is locked and the person was not asked. After a question,
///   `errSecUserCanceled` if the person dismissed it. `errSecAuthFailed` for a wrong answer of the person or the program.
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
///   - query: The class and attributes of the items. It takes no limit and nothing to return.
///   - attributesToUpdate: The new attributes and secret. No other key is allowed, not even the class.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` where nothing matches; `errSecDuplicateItem` where another item would
///   have the same primary attributes.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  ItemService.shared.update(query, attributesToUpdate)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Deletes all items that match, locked or not, and asks nobody. Up to 4096 of them are deleted in one step: all, or none.
///
/// Before the first login an item shows only what it was searched by: a query that says more is `errSecInteractionNotAllowed`
/// then, as is one for items of other programs.
///
/// - Parameter query: The class and attributes of the items. Of limits it accepts ``kSecMatchLimitAll`` alone, which changes
///   nothing.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` where nothing matches.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  ItemService.shared.delete(query)
}
