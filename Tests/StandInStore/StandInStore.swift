import Foundation
import LatchkeyItemProtection
import LatchkeySecurity
import Synchronization

/// A vault in memory, with the rules that every vault has. It can be locked.
package final class StandInStore: ItemStore {
  private struct State {
    var items: [StoredItem] = []
    var stored = 0
    var isLocked = false
    /// The question that the last call could have asked the person.
    var authentication: Authentication?
  }

  package let accessGroups: AccessGroups
  private let state = Mutex(State())

  package init(groups: [String] = ["TEAM.app", "TEAM.shared"]) { accessGroups = AccessGroups(groups) }

  package var items: [StoredItem] { state.withLock { $0.items } }

  package var authentication: Authentication? { state.withLock { $0.authentication } }

  package func lock() { state.withLock { $0.isLocked = true } }

  package func add(_ item: NewItem) throws(ItemFailure) -> StoredItem {
    try state.withLock { state throws(ItemFailure) in
      state.authentication = item.authentication
      guard !state.items.contains(where: { $0.primaryKey == item.primaryKey }) else {
        throw ItemFailure(errSecDuplicateItem)
      }
      state.stored += 1
      let now = AttributeValue.date(Date(timeIntervalSince1970: TimeInterval(1_700_000_000 + state.stored)))
      let stored = StoredItem(
        reference: ItemReference(itemClass: item.itemClass, identifier: Data("\(state.stored)".utf8)),
        accessGroup: item.accessGroup, isSynchronizable: item.isSynchronizable, protection: item.protection,
        attributes: item.attributes.merging([.creationDate: now, .modificationDate: now]) { _, new in new },
        secret: item.secret)
      state.items.append(stored)
      return stored.with(secret: nil)
    }
  }

  package func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem] {
    try state.withLock { state throws(ItemFailure) in
      state.authentication = query.authentication
      let found = state.items.filter(query.matches)
      if state.isLocked, !found.isEmpty { throw ItemFailure(errSecInteractionNotAllowed) }
      return found.prefix(query.limit.maximum ?? .max).map {
        query.returned.contains(.data) ? $0 : $0.with(secret: nil)
      }
    }
  }

  package func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int {
    try state.withLock { state throws(ItemFailure) in
      state.authentication = query.authentication
      let changed = state.items.map { query.matches($0) ? changes.applied(to: $0) : $0 }
      guard Set(changed.map(\.primaryKey)).count == changed.count else { throw ItemFailure(errSecDuplicateItem) }
      let count = state.items.filter(query.matches).count
      state.items = changed
      return count
    }
  }

  package func delete(_ query: ItemQuery) throws(ItemFailure) -> Int {
    state.withLock { state in
      let before = state.items.count
      state.items.removeAll(where: query.matches)
      return before - state.items.count
    }
  }
}
