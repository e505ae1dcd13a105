package import Foundation

/// The store of this program. `KeychainClient` defines it, and needs C modules. If this module imported `KeychainClient`, every
/// program that imports this module would need those C modules too. So only the linker connects the two.
@_silgen_name("latchkey_keychain_store")
private func linkedKeychainStore() -> any ItemStore

/// The four calls, which use a store.
package struct ItemService: Sendable {
  private let store: any ItemStore

  /// The calls that use the vault of the program's user.
  static let shared = ItemService(store: linkedKeychainStore())

  package init(store: any ItemStore) { self.store = store }

  /// `SecItemAdd`.
  package func add(_ dictionary: NSDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(ItemFailure) in
      let item = try NewItem(dictionary, groups: try store.accessGroups)
      let stored = try store.add(item)
      // The secret is already known. Reading it back could ask the person again.
      result?.deliver(ItemResult.object(for: [stored.with(secret: item.secret)], kinds: item.returned, limit: .one))
    }
  }

  /// `SecItemCopyMatching`.
  package func copyMatching(_ dictionary: NSDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(ItemFailure) in
      let query = try ItemQuery(dictionary, for: .copying, groups: try store.accessGroups)
      let items = try store.items(matching: query)
      guard !items.isEmpty else { throw ItemFailure(errSecItemNotFound) }
      result?.deliver(ItemResult.object(for: items, kinds: query.returned, limit: query.limit))
    }
  }

  /// `SecItemUpdate`.
  package func update(_ dictionary: NSDictionary, _ changes: NSDictionary) -> OSStatus {
    status { () throws(ItemFailure) in
      // Both dictionaries are read before the groups, so that a mistake in them is reported first. The changes need only the class
      // of the query.
      let changes = try ItemChanges(changes, of: ItemTerms(dictionary, for: .search).itemClass)
      let query = try ItemQuery(dictionary, for: .updating, groups: try store.accessGroups)
      try changes.check(against: store.accessGroups)
      guard try store.update(query, with: changes) > 0 else { throw ItemFailure(errSecItemNotFound) }
    }
  }

  /// `SecItemDelete`.
  package func delete(_ dictionary: NSDictionary) -> OSStatus {
    status { () throws(ItemFailure) in
      let query = try ItemQuery(dictionary, for: .deleting, groups: try store.accessGroups)
      guard try store.delete(query) > 0 else { throw ItemFailure(errSecItemNotFound) }
    }
  }

  /// The code for the result of a call.
  private func status(_ call: () throws(ItemFailure) -> Void) -> OSStatus {
    do {
      try call()
      LastFailure.ofThread = nil
      return errSecSuccess
    } catch {
      LastFailure.ofThread = error
      return error.status
    }
  }
}

extension UnsafeMutablePointer<CFTypeRef?> {
  /// Stores the result in the program's variable. If there is none, the variable stays as it is.
  fileprivate func deliver(_ object: AnyObject?) {
    if let object { pointee = object }
  }
}
