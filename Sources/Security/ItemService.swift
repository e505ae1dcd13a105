package import Foundation

/// The four calls, over a store.
package struct ItemService: Sendable {
  private let store: (any ItemStore)?

  /// The program's own vault. There is no way to it yet: every well-formed call is `errSecNotAvailable`.
  static let shared = ItemService(store: nil)

  package init(store: (any ItemStore)?) { self.store = store }

  /// `SecItemAdd`.
  package func add(_ dictionary: NSDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { (store, groups) throws(ItemFailure) in
      let item = try NewItem(dictionary, groups: groups)
      let stored = try store().add(item)
      // The secret is at hand: reading it back could ask the person for what they have just typed.
      result?.deliver(ItemResult.object(for: [stored.with(secret: item.secret)], kinds: item.returned, limit: .one))
    }
  }

  /// `SecItemCopyMatching`.
  package func copyMatching(_ dictionary: NSDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { (store, groups) throws(ItemFailure) in
      let query = try ItemQuery(dictionary, for: .copying, groups: groups)
      let items = try store().items(matching: query)
      guard !items.isEmpty else { throw ItemFailure(errSecItemNotFound) }
      result?.deliver(ItemResult.object(for: items, kinds: query.returned, limit: query.limit))
    }
  }

  /// `SecItemUpdate`.
  package func update(_ dictionary: NSDictionary, _ changes: NSDictionary) -> OSStatus {
    status { (store, groups) throws(ItemFailure) in
      let query = try ItemQuery(dictionary, for: .updating, groups: groups)
      let changes = try ItemChanges(changes, of: query.itemClass, groups: groups)
      guard try store().update(query, with: changes) > 0 else { throw ItemFailure(errSecItemNotFound) }
    }
  }

  /// `SecItemDelete`.
  package func delete(_ dictionary: NSDictionary) -> OSStatus {
    status { (store, groups) throws(ItemFailure) in
      let query = try ItemQuery(dictionary, for: .deleting, groups: groups)
      guard try store().delete(query) > 0 else { throw ItemFailure(errSecItemNotFound) }
    }
  }

  /// The code of what a call does. The store is asked for only after everything was read: a mistake is the same mistake
  /// whether or not there is a vault.
  private func status(
    _ call: (_ store: () throws(ItemFailure) -> any ItemStore, AccessGroups) throws(ItemFailure) -> Void
  ) -> OSStatus {
    do {
      try call(
        { () throws(ItemFailure) in
          guard let store else { throw ItemFailure(errSecNotAvailable) }
          return store
        }, store?.accessGroups ?? AccessGroups([""]))
      return errSecSuccess
    } catch {
      return error.status
    }
  }
}

extension UnsafeMutablePointer<CFTypeRef?> {
  /// Hands over a result; where there is none, what the program has there stays.
  fileprivate func deliver(_ object: AnyObject?) {
    if let object { pointee = object }
  }
}
