public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Stores an item.
///
/// - Parameters:
///   - attributes: The class, attributes and secret of the item, and what to return.
///   - result: Where what is asked for goes; nil where nothing is wanted.
/// - Returns: `errSecSuccess`, or why nothing was stored: `errSecDuplicateItem` where an item with the same class, access
///   group, account and service (for Internet passwords account, server, port and so on) is there.
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
/// - Parameters:
///   - query: The class and attributes of the items, and what to return of them.
///   - result: Where what is asked for goes.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` where nothing matches; `errSecInteractionNotAllowed` where an item is
///   locked.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  ItemService.shared.copyMatching(query, result)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Changes all items that match.
///
/// - Parameters:
///   - query: The class and attributes of the items. It takes no limit and nothing to return.
///   - attributesToUpdate: Attributes and secret as they are to be. No other key is allowed, the class neither.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` where nothing matches; `errSecDuplicateItem` where another item would
///   have the same primary attributes.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  ItemService.shared.update(query, attributesToUpdate)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Deletes all items that match, locked or not.
///
/// - Parameter query: The class and attributes of the items. It takes no limit.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` where nothing matches.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  ItemService.shared.delete(query)
}
